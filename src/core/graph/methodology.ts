/** How a result is judged: by a program, by a model, by a person. In the order in which they run. */
export const CHECK_TYPES = ['deterministic', 'agent', 'human'] as const;
export type CheckType = (typeof CHECK_TYPES)[number];

export interface AssetType {
  readonly name: string;
  readonly description: string;
  readonly markov_criteria: readonly string[];
}

/** One admissible step between two types of asset. `edge` is its canonical id, `source_target`. */
export interface Transition {
  readonly edge: string;
  /** As the topology calls it, for people. */
  readonly name: string;
  readonly source: string;
  readonly target: string;
  readonly edge_type: 'standard' | 'co_evolution';
  readonly evaluators: readonly CheckType[];
}

export interface ConstraintDimension {
  readonly name: string;
  readonly mandatory: boolean;
}

export interface Topology {
  readonly asset_types: readonly AssetType[];
  /** In the order of the file, which is the order of work; an edge that closes a circle comes last. */
  readonly transitions: readonly Transition[];
  readonly constraint_dimensions: readonly ConstraintDimension[];
}

export interface CheckDefinition {
  readonly name: string;
  readonly type: CheckType;
  readonly criterion: string;
  /** Text where a variable decides it: `$tools.type_checker.required`. */
  readonly required: boolean | string;
  /** Where the check comes from: `default`, `traceability`, `project`, `feature`. */
  readonly source: string;
  readonly command?: string;
  readonly pass_criterion?: string;
}

/** What an edge asks of its result. What else its file says (guidance, templates) is kept word for word. */
export interface EdgeConfig {
  readonly edge: string;
  readonly description: string;
  readonly checklist: readonly CheckDefinition[];
  readonly max_iterations: number | null;
  readonly stuck_threshold: number | null;
  readonly human_required: boolean;
  readonly extra: Readonly<Record<string, unknown>>;
}

export const EXPIRY_ACTIONS = ['fold_back', 'escalate', 'accept_best_effort'] as const;
export type ExpiryAction = (typeof EXPIRY_ACTIONS)[number];

export interface TimeBoxRule {
  readonly duration_seconds: number;
  readonly check_in_seconds: number | null;
  readonly on_expiry: ExpiryAction;
}

export interface Profile {
  readonly name: string;
  readonly description: string;
  /** Edges by canonical id; `all`: every edge of the topology. */
  readonly include: readonly string[] | 'all';
  readonly skip: readonly string[];
  readonly optional: readonly string[];
  readonly evaluators: readonly CheckType[];
  readonly evaluators_by_edge: Readonly<Record<string, readonly CheckType[]>>;
  readonly convergence_rule: string;
  /** What a human says besides, on the last edge: `production_verified`. */
  readonly additional_condition?: string;
  readonly human_required_on_all_edges: boolean;
  readonly max_iterations: number;
  readonly stuck_threshold: number;
  readonly time_box: TimeBoxRule | null;
  readonly vector_types: readonly string[] | 'any';
}

export const AUTHORITY_ACTIONS = ['escalate', 'reject', 'warn'] as const;
export type AuthorityAction = (typeof AUTHORITY_ACTIONS)[number];

export interface AgentRole {
  readonly description: string;
  readonly converge_edges: readonly string[] | 'all';
}

/** Who may converge what. Read from `agent_roles.yml`. */
export interface RoleRegistry {
  readonly roles: Readonly<Record<string, AgentRole>>;
  readonly outside_authority_action: AuthorityAction;
  readonly spec_mutation_requires_human: boolean;
}

/** Which modules a feature touches, and which modules each module rests on. */
export interface ModuleMap {
  readonly feature_module_map: Readonly<Record<string, readonly string[]>>;
  readonly dependency_dag: Readonly<Record<string, readonly string[]>>;
}

export interface Parallelism {
  /** Features that share modules with claimed work are refused, not only warned of. */
  readonly enforce: boolean;
}

export const PRIORITIES = ['critical', 'high', 'medium', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];
export const VECTOR_TYPES = ['feature', 'discovery', 'spike', 'poc', 'hotfix'] as const;
export type VectorType = (typeof VECTOR_TYPES)[number];

export interface AcceptanceCriterion {
  readonly id: string;
  readonly description: string;
  readonly evaluator: CheckType;
  readonly check?: string;
  readonly required: boolean;
}

/**
 * What a person or a spawn says of a feature. How far it is comes from the log alone: a trajectory written in a
 * vector's file is read, and never believed.
 */
export interface FeatureVector {
  readonly feature_id: string;
  readonly title: string;
  readonly intent: string | null;
  readonly vector_type: VectorType;
  readonly profile: string;
  readonly priority: Priority;
  readonly created: string | null;
  readonly time_box: (TimeBoxRule & { readonly started: string | null }) | null;
  readonly parent: { readonly feature: string; readonly edge: string | null; readonly reason: string } | null;
  /** Features that must be there first; `asset` narrows it to the edges up to that type of asset. */
  readonly dependencies: readonly { readonly feature: string; readonly asset: string | null }[];
  /** Requirement keys this feature delivers, its own among them. */
  readonly requirements: readonly string[];
  readonly acceptance_criteria: readonly AcceptanceCriterion[];
  readonly threshold_overrides: Readonly<Record<string, unknown>>;
  readonly additional_checks: readonly CheckDefinition[];
}

/** `project_constraints.yml`: what variables in checks stand for, and which dimensions are settled. */
export interface ProjectConstraints {
  readonly project_name: string | null;
  readonly language: string | null;
  readonly tools: Readonly<Record<string, unknown>>;
  readonly thresholds: Readonly<Record<string, unknown>>;
  readonly standards: Readonly<Record<string, unknown>>;
  readonly architecture: Readonly<Record<string, unknown>>;
  /** By dimension: what was decided; empty or null is undecided. */
  readonly constraint_dimensions: Readonly<Record<string, unknown>>;
}

export type CoordinationMode = 'single' | 'multi';

/** How long claims of edges last. What is absent, the policy of the project says. */
export interface ClaimTimeouts {
  readonly stale_threshold_seconds?: number;
  readonly claim_ttl_seconds?: number;
  readonly on_ttl?: 'hold' | 'takeover';
  readonly max_hold_seconds?: number;
}

/**
 * All that a project says of how it works, in one normal form: edges by canonical id, durations in seconds, built-in
 * defaults filled in. It is kept whole in the project's record `~methodology`, so that decisions rest on the log.
 */
export interface Methodology {
  readonly mode: CoordinationMode;
  readonly default_profile: string;
  readonly topology: Topology;
  readonly edges: Readonly<Record<string, EdgeConfig>>;
  readonly profiles: Readonly<Record<string, Profile>>;
  readonly roles: RoleRegistry;
  readonly parallelism: Parallelism;
  readonly claims?: ClaimTimeouts;
  readonly modules: ModuleMap | null;
  readonly constraints: ProjectConstraints;
  /** The intent was written down by a person: not empty, not the placeholder. */
  readonly has_intent: boolean;
}

/** What is wrong with a file of the workspace, and where. */
export interface ConfigFault {
  /** From `.ai-workspace/`, as `profiles/standard.yml`. */
  readonly file: string;
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

export type ParsedMethodology =
  | {
      readonly ok: true;
      readonly methodology: Methodology;
      readonly features: readonly FeatureVector[];
      /** What was read as something else than it says, or left out: for people. */
      readonly warnings: readonly ConfigFault[];
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };
