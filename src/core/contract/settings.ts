import { z } from 'zod';
import { TRACK_PATTERN } from '../plan/task-id.js';
import { LIMITED_TRACKS_MAX } from '../plan/track-capacity.js';
import { type ApiOperations, jsonBody, PROJECT_PATH, readOperation, TENANT_PATH } from './operation.js';
import { count, mutationFields, namedObject } from './schema.js';
import { EVIDENCE_POLICIES, RESULT_BYTES_MAX } from './values.js';

/** Limits of a tenant and policy of a project. */

const YEAR_SECONDS = 366 * 24 * 3600;
const integerUpTo = (max: number) => z.number().int().min(0).max(max);
const secondsUpTo = (max: number) => z.number().int().min(1).max(max);

/** Limits of a tenant, with the names and values of specification 004 §7.2. */
const limits = namedObject('Limits', {
  max_concurrent_claims: count.describe('claims that a tenant holds at the same time'),
  max_lease_duration_seconds: count.describe('longest lease that a claim or a renewal may request'),
  min_lease_duration_seconds: count.describe('shortest lease that a claim or a renewal may request'),
  max_generations_per_task: count.describe('how often one task may be granted'),
  claim_history_retention_days: count.describe('days after which the history of ended claims is redacted'),
  max_result_size_bytes: count.describe('size of one result, or of one blob'),
  max_active_sessions: count.describe('sessions that are active at the same time'),
  session_idle_seconds: count.describe('how long a session without a claim counts as active'),
  require_signatures: z
    .boolean()
    .describe(
      'whether each command of a session must be signed with the key that the session was opened with',
    ),
});
export const limitsBody = z.strictObject({
  max_concurrent_claims: integerUpTo(10_000_000).optional(),
  max_lease_duration_seconds: secondsUpTo(YEAR_SECONDS).optional(),
  min_lease_duration_seconds: secondsUpTo(YEAR_SECONDS).optional(),
  max_generations_per_task: integerUpTo(1_000_000_000).optional(),
  claim_history_retention_days: integerUpTo(36_500).optional(),
  max_result_size_bytes: integerUpTo(RESULT_BYTES_MAX).optional(),
  max_active_sessions: integerUpTo(1_000_000).optional(),
  session_idle_seconds: secondsUpTo(YEAR_SECONDS).optional(),
  require_signatures: z.boolean().optional(),
  ...mutationFields,
});

const stalePolicy = z.enum(['takeover', 'hold']);
const lateSubmit = z.enum(['accept', 'reject']);
const taskProposals = z.enum(['review', 'allow']);
const track = z.string().regex(TRACK_PATTERN, { error: 'expected a track: 1 to 8 capital letters' });
const AGENTS_PER_TRACK_MAX = 10_000;
const agentsMax = z.number().int().min(1).max(AGENTS_PER_TRACK_MAX);
const withinTracks = [
  (byTrack: object) => Object.keys(byTrack).length <= LIMITED_TRACKS_MAX,
  `expected at most ${LIMITED_TRACKS_MAX} tracks`,
] as const;
const evidencePolicy = z.enum(EVIDENCE_POLICIES);
const complianceProfile = z.enum(['hipaa', 'soc2', 'pci']).nullable();
/** Policy of a project. */
const policy = namedObject('Policy', {
  stale_policy: z
    .object({ task: stalePolicy, edge: stalePolicy })
    .describe(
      'after a lease has ended, any agent may take over (takeover), or the holder keeps the claim (hold)',
    ),
  late_submit: lateSubmit.describe('whether a late result is accepted if the task was not claimed again'),
  max_hold_seconds: z
    .number()
    .nullable()
    .describe('longest time one claim is held, with renewals; null: unlimited'),
  stale_threshold_seconds: count.describe('under hold: inactivity after which a claim is reported as stale'),
  claim_ttl_seconds: count.describe('lease of a claim on an edge that requests none'),
  sweep_interval_seconds: count.describe('how often ended leases are recorded'),
  suspend_max_seconds: count.describe('longest time that a claim waits for a person'),
  max_attempts: count.describe('generations in a row that may fail before a person must act'),
  max_agents_per_track: z
    .union([count, z.record(track, count)])
    .nullable()
    .describe('agents that work in one track: for all tracks, or by track; null: unlimited'),
  task_proposals: taskProposals.describe('whether tasks that an agent adds wait for a person'),
  compliance_profile: complianceProfile.describe('regulation whose minimum retention also applies'),
  evidence: evidencePolicy.describe(
    'whose results of deterministic checks count: those of the agent (reported) or of an enrolled runner (verified)',
  ),
});
export const policyBody = z.strictObject({
  stale_policy: z
    .union([stalePolicy, z.strictObject({ task: stalePolicy.optional(), edge: stalePolicy.optional() })], {
      error: `expected takeover or hold, or one of them for task and for edge`,
    })
    .optional(),
  late_submit: lateSubmit.optional(),
  max_hold_seconds: secondsUpTo(YEAR_SECONDS).nullable().optional(),
  stale_threshold_seconds: secondsUpTo(YEAR_SECONDS).optional(),
  claim_ttl_seconds: secondsUpTo(YEAR_SECONDS).optional(),
  sweep_interval_seconds: secondsUpTo(24 * 3600).optional(),
  suspend_max_seconds: secondsUpTo(YEAR_SECONDS).optional(),
  max_attempts: z.number().int().min(1).max(1000).optional(),
  /** As an object by track: omitted tracks keep their values, and null removes the limit of a track. */
  max_agents_per_track: z
    .union([agentsMax, z.record(track, agentsMax.nullable()).refine(...withinTracks)], {
      error: `expected a whole number from 1 to ${AGENTS_PER_TRACK_MAX}, or one per track for at most ${LIMITED_TRACKS_MAX} tracks`,
    })
    .nullable()
    .optional(),
  task_proposals: taskProposals.optional(),
  compliance_profile: complianceProfile.optional(),
  evidence: evidencePolicy.optional(),
  ...mutationFields,
});

/** The meaning of each setting, by its name. */
const meaningsOf = (shape: Readonly<Record<string, z.ZodType>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(shape).map(([name, { description = '' }]) => [name, description]));
export const LIMIT_MEANINGS = meaningsOf(limits.shape);
export const POLICY_MEANINGS = meaningsOf(policy.shape);

export type Limits = z.output<typeof limits>;
export type LimitsBody = z.infer<typeof limitsBody>;
export type StalePolicy = z.output<typeof stalePolicy>;
export type Policy = z.output<typeof policy>;
export type PolicyBody = z.infer<typeof policyBody>;

const LIMITS_PATH = `${TENANT_PATH}/limits` as const;
const POLICY_PATH = `${PROJECT_PATH}/policy` as const;

export const settingsOperations = {
  get_limits: readOperation(LIMITS_PATH, 'Get the limits of the tenant', { reply: limits }),
  put_limits: {
    method: 'PUT',
    path: LIMITS_PATH,
    action: 'administer',
    summary: 'Change limits of the tenant; omitted fields keep their values',
    body: jsonBody(limitsBody),
    reply: limits,
  },
  get_policy: readOperation(POLICY_PATH, 'Get the policy of the project', { reply: policy }),
  put_policy: {
    method: 'PUT',
    path: POLICY_PATH,
    action: 'administer',
    summary: 'Change the policy of the project; omitted fields keep their values',
    body: jsonBody(policyBody),
    reply: policy,
  },
} as const satisfies ApiOperations;
