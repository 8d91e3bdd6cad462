/** Kinds of check, by who evaluates: a program, a model, a person. In the order in which they run. */
export const CHECK_TYPES = ['deterministic', 'agent', 'human'] as const;
export type CheckType = (typeof CHECK_TYPES)[number];

export interface AssetType {
  readonly name: string;
  readonly description: string;
  readonly markov_criteria: readonly string[];
}

/** An allowed step between two asset types. `edge` is its canonical id, `source_target`. */
export interface Transition {
  readonly edge: string;
  /** Name in the topology, for people. */
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
  /** In file order, which is the order of work; an edge that closes a cycle comes last. */
  readonly transitions: readonly Transition[];
  readonly constraint_dimensions: readonly ConstraintDimension[];
}

export interface CheckDefinition {
  readonly name: string;
  readonly type: CheckType;
  readonly criterion: string;
  /** A string if a variable decides it: `$tools.type_checker.required`. */
  readonly required: boolean | string;
  /** Origin of the check: `default`, `traceability`, `project`, `feature`. */
  readonly source: string;
  readonly command?: string;
  readonly pass_criterion?: string;
}

/** Requirements of an edge for its result. Other content of its file (guidance, templates) is kept verbatim. */
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
  /** Canonical edge ids; `all`: every edge of the topology. */
  readonly include: readonly string[] | 'all';
  readonly skip: readonly string[];
  readonly optional: readonly string[];
  readonly evaluators: readonly CheckType[];
  readonly evaluators_by_edge: Readonly<Record<string, readonly CheckType[]>>;
  readonly convergence_rule: string;
  /** An extra condition that a human confirms on the last edge: `production_verified`. */
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

/** Which roles may converge which edges. Read from `agent_roles.yml`. */
export interface RoleRegistry {
  readonly roles: Readonly<Record<string, AgentRole>>;
  readonly outside_authority_action: AuthorityAction;
  readonly spec_mutation_requires_human: boolean;
}

/** Modules that each feature touches, and the dependencies of each module. */
export interface ModuleMap {
  readonly feature_module_map: Readonly<Record<string, readonly string[]>>;
  readonly dependency_dag: Readonly<Record<string, readonly string[]>>;
}

export interface Parallelism {
  /** Claims of features that share modules with claimed work are refused, not only warned about. */
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
 * Definition of a feature, from a person or a spawn. Its progress comes from the log only: a trajectory in the file is
 * read but ignored.
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
  /** Features that must converge first; `asset` limits this to the edges up to that asset type. */
  readonly dependencies: readonly { readonly feature: string; readonly asset: string | null }[];
  /** Requirement keys that this feature delivers, including its own. */
  readonly requirements: readonly string[];
  readonly acceptance_criteria: readonly AcceptanceCriterion[];
  readonly threshold_overrides: Readonly<Record<string, unknown>>;
  readonly additional_checks: readonly CheckDefinition[];
}

/** Content of `project_constraints.yml`: the values of variables in checks, and the decided dimensions. */
export interface ProjectConstraints {
  readonly project_name: string | null;
  readonly language: string | null;
  readonly tools: Readonly<Record<string, unknown>>;
  readonly thresholds: Readonly<Record<string, unknown>>;
  readonly standards: Readonly<Record<string, unknown>>;
  readonly architecture: Readonly<Record<string, unknown>>;
  /** Decision per dimension; empty or null is undecided. */
  readonly constraint_dimensions: Readonly<Record<string, unknown>>;
}

export type CoordinationMode = 'single' | 'multi';

/** Durations of edge claims. Absent values come from the project's policy. */
export interface ClaimTimeouts {
  readonly stale_threshold_seconds?: number;
  readonly claim_ttl_seconds?: number;
  readonly on_ttl?: 'hold' | 'takeover';
  readonly max_hold_seconds?: number;
}

/**
 * Configuration of a project in normal form: canonical edge ids, durations in seconds, built-in defaults filled in.
 * Stored whole in the record `~methodology`, so that decisions depend on the log only.
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
  /** A person has written the intent: the file is neither empty nor the placeholder. */
  readonly has_intent: boolean;
}

/** What is wrong with a workspace file, and where. */
export interface ConfigFault {
  /** Relative to `.ai-workspace/`, as `profiles/standard.yml`. */
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
      /** Values that were reinterpreted or ignored, for people. */
      readonly warnings: readonly ConfigFault[];
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };
