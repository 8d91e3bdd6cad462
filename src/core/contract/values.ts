/** Closed sets of values. The rules use them too, so this file imports no schema library, like codes.ts. */

/** Why a subject can or cannot be claimed, in the order in which the reasons are checked. */
export const READINESS = [
  'completed',
  'held',
  'suspended',
  'stale',
  'claimed',
  'blocked',
  'backoff',
  'exhausted',
  'ready',
] as const;
export type Readiness = (typeof READINESS)[number];

/** States of a workspace, in order of precedence: the first that applies is the state. It is always derived, never stored. */
export const WORKSPACE_STATES = [
  'UNINITIALISED',
  'NEEDS_CONSTRAINTS',
  'NEEDS_INTENT',
  'NO_FEATURES',
  'STUCK',
  'ALL_BLOCKED',
  'IN_PROGRESS',
  'ALL_CONVERGED',
] as const;
export type WorkspaceState = (typeof WORKSPACE_STATES)[number];

export const FEATURE_STATUSES = [
  'pending',
  'in_progress',
  'stuck',
  'pending_review',
  'blocked',
  'converged',
  'time_box_expired',
] as const;
export type FeatureStatus = (typeof FEATURE_STATUSES)[number];

export const EDGE_STATUSES = ['iterating', 'converged', 'blocked', 'pending_review'] as const;
export type EdgeStatus = (typeof EDGE_STATUSES)[number];
/** The progress of a step as one character, the same in every view. */
export const STATUS_MARKS = {
  converged: '✓',
  iterating: '●',
  pending_review: '●',
  pending: '○',
  blocked: '✗',
} as const satisfies Record<'pending' | EdgeStatus, string>;

export const GAP_LAYERS = ['code', 'tests', 'telemetry'] as const;
export type GapLayer = (typeof GAP_LAYERS)[number];

export const BANDS = ['Specification', 'Construction', 'Validation', 'Operations'] as const;
export type Band = (typeof BANDS)[number];

/** What a check of an edge reported. */
export const CHECK_RESULTS = ['pass', 'fail', 'skip', 'error', 'pending'] as const;

/** Kinds of check, by who evaluates: a program, a model, a person. In the order in which they run. */
export const CHECK_TYPES = ['deterministic', 'agent', 'human'] as const;
export type CheckType = (typeof CHECK_TYPES)[number];

/** What proves that a deterministic check has passed: the report of the agent, or the evidence of an enrolled runner. */
export const EVIDENCE_POLICIES = ['reported', 'verified'] as const;
export type EvidencePolicy = (typeof EVIDENCE_POLICIES)[number];

export const EXPIRY_ACTIONS = ['fold_back', 'escalate', 'accept_best_effort'] as const;
export type ExpiryAction = (typeof EXPIRY_ACTIONS)[number];

/** What happens when the holder of a claim submits the result of an edge that its role may not converge. */
export const OUTSIDE_AUTHORITY_ACTIONS = ['escalate', 'reject', 'warn'] as const;

/** Kinds of work that the operation `next` claims. */
export const WORK_KINDS = ['task', 'edge'] as const;
export type WorkKind = (typeof WORK_KINDS)[number];

/** Most urgent first. */
const URGENCIES = ['critical', 'high', 'medium', 'low'] as const;

/** Priorities of features. */
export const PRIORITIES = URGENCIES;
export type Priority = (typeof PRIORITIES)[number];

/** Severities of signals, of what waits for a person, and of what a health report lists. */
export const SEVERITIES = URGENCIES;

export const VECTOR_TYPES = ['feature', 'discovery', 'spike', 'poc', 'hotfix'] as const;
export type VectorType = (typeof VECTOR_TYPES)[number];

/** Maximum of `max_result_size_bytes`: a result is held in memory while it arrives. */
export const RESULT_BYTES_MAX = 256 * 1024 ** 2;

export const RUN_STATUSES = ['CONVERGED', 'ESCALATED', 'FAILED', 'CANCELLED'] as const;
