import { z } from 'zod';
import type { ConfigFault } from '../../contract/problem.js';
import type { ReplyOf } from '../../contract/schema.js';
import {
  CHECK_TYPES,
  EXPIRY_ACTIONS,
  OUTSIDE_AUTHORITY_ACTIONS,
  PRIORITIES,
  VECTOR_TYPES,
} from '../../contract/values.js';
import { checkExecutionFields, edgeEngineFields, engineSettingsSchema } from './engine-settings.js';

/** Maximum length in characters of JSON: the log stores these records whole. */
export const METHODOLOGY_LENGTH_MAX = 512 * 1024;
export const FEATURE_LENGTH_MAX = 64 * 1024;

const text = z.string();
const texts = z.array(text);
const checkType = z.enum(CHECK_TYPES);
const anyRecord = z.record(text, z.unknown());
const listsByName = z.record(text, texts);
const positiveInt = z.int().positive();

/** An allowed step between two asset types. */
const transition = z.strictObject({
  /** Canonical id, `source_target`. */
  edge: text,
  /** Name in the topology, for display. */
  name: text,
  source: text,
  target: text,
  edge_type: z.enum(['standard', 'co_evolution']),
  evaluators: z.array(checkType),
});

const topology = z.strictObject({
  /** `markov_criteria`: the conditions under which an asset of the type is complete. Kept for readers, not evaluated. */
  asset_types: z.array(z.strictObject({ name: text, description: text, markov_criteria: texts })),
  /** In file order, which is the order of work; an edge that closes a cycle comes last. */
  transitions: z.array(transition),
  constraint_dimensions: z.array(z.strictObject({ name: text, mandatory: z.boolean() })),
});

const checkDefinition = z.strictObject({
  name: text,
  type: checkType,
  criterion: text,
  /** A string if a variable decides it: `$tools.type_checker.required`. */
  required: z.union([z.boolean(), text]),
  /** Origin of the check, such as `default`, `traceability`, `project`, `feature` or `profile`. */
  source: text,
  command: text.exactOptional(),
  pass_criterion: text.exactOptional(),
  ...checkExecutionFields,
});

/** Requirements of an edge for its result. Other content of its file (guidance, templates) is kept in `extra`. */
const edgeConfig = z.strictObject({
  edge: text,
  description: text,
  checklist: z.array(checkDefinition),
  max_iterations: positiveInt.nullable(),
  stuck_threshold: positiveInt.nullable(),
  human_required: z.boolean(),
  ...edgeEngineFields,
  extra: anyRecord,
});

const timeBoxRule = z.strictObject({
  duration_seconds: positiveInt,
  check_in_seconds: positiveInt.nullable(),
  on_expiry: z.enum(EXPIRY_ACTIONS),
});

const profile = z.strictObject({
  name: text,
  description: text,
  /** Canonical edge ids; `all`: every edge of the topology. */
  include: z.union([z.literal('all'), texts]),
  /** Edges that the profile names and the topology does not have. Such a feature is complete only if it is folded back. */
  missing_edges: texts.exactOptional(),
  skip: texts,
  optional: texts,
  evaluators: z.array(checkType),
  evaluators_by_edge: z.record(text, z.array(checkType)),
  convergence_rule: text,
  /** An extra condition that a person confirms on the last edge: `production_verified`. */
  additional_condition: text.exactOptional(),
  human_required_on_all_edges: z.boolean(),
  max_iterations: positiveInt,
  stuck_threshold: positiveInt,
  time_box: timeBoxRule.nullable(),
  vector_types: z.union([z.literal('any'), texts]),
});

const agentRole = z.strictObject({ description: text, converge_edges: z.union([z.literal('all'), texts]) });

/** Which roles may converge which edges. Read from `agent_roles.yml`. */
const roleRegistry = z.strictObject({
  roles: z.record(text, agentRole),
  outside_authority_action: z.enum(OUTSIDE_AUTHORITY_ACTIONS),
  spec_mutation_requires_human: z.boolean(),
});

/** Durations of edge claims. Absent values come from the project's policy. */
const claimTimeouts = z.strictObject({
  stale_threshold_seconds: positiveInt.exactOptional(),
  claim_ttl_seconds: positiveInt.exactOptional(),
  on_ttl: z.enum(['hold', 'takeover']).exactOptional(),
  max_hold_seconds: positiveInt.exactOptional(),
});

/** Modules that each feature touches, and the dependencies of each module. */
const moduleMap = z.strictObject({ feature_module_map: listsByName, dependency_dag: listsByName });

/** Content of `project_constraints.yml`: the values of variables in checks, and the decided dimensions. */
const projectConstraints = z.strictObject({
  project_name: text.nullable(),
  language: text.nullable(),
  tools: anyRecord,
  thresholds: anyRecord,
  standards: anyRecord,
  architecture: anyRecord,
  /** Decision per dimension; empty or null is undecided. */
  constraint_dimensions: anyRecord,
});

const withinLength = <S extends z.ZodType>(schema: S, lengthMax: number): S =>
  schema.refine((value) => JSON.stringify(value).length <= lengthMax, {
    error: `expected at most ${lengthMax} characters of JSON`,
  });

/**
 * Configuration of a project in normal form: canonical edge ids, durations in seconds, built-in defaults filled in.
 * Stored whole in the record `~methodology`, so that decisions depend on the log only.
 */
export const methodologySchema = withinLength(
  z.strictObject({
    mode: z.enum(['single', 'multi']),
    default_profile: text,
    topology,
    edges: z.record(text, edgeConfig),
    profiles: z.record(text, profile),
    roles: roleRegistry,
    /** `enforce`: claims of features that share modules with claimed work are refused, not only warned about. */
    parallelism: z.strictObject({ enforce: z.boolean() }),
    claims: claimTimeouts.exactOptional(),
    modules: moduleMap.nullable(),
    constraints: projectConstraints,
    /** Whether a person has written the intent: its file has more than headings and template text. */
    has_intent: z.boolean(),
    /** Content of `engine.yml`. Absent: the project has none. */
    engine: engineSettingsSchema.exactOptional(),
  }),
  METHODOLOGY_LENGTH_MAX,
);

const acceptanceCriterion = z.strictObject({
  id: text,
  description: text,
  evaluator: checkType,
  check: text.exactOptional(),
  required: z.boolean(),
});

/**
 * The record `~feature/<id>`: definition of a feature, from a person or a spawn. Its progress comes from the log only; a
 * trajectory in the file is ignored.
 */
export const featureSchema = withinLength(
  z.strictObject({
    feature_id: text,
    title: text,
    intent: text.nullable(),
    vector_type: z.enum(VECTOR_TYPES),
    profile: text,
    priority: z.enum(PRIORITIES),
    created: text.nullable(),
    time_box: timeBoxRule.extend({ started: text.nullable() }).nullable(),
    parent: z.strictObject({ feature: text, edge: text.nullable(), reason: text }).nullable(),
    /** Features that must converge first; `asset` limits this to the edges up to that asset type. */
    dependencies: z.array(z.strictObject({ feature: text, asset: text.nullable() })),
    /** Requirement keys that this feature delivers, including its own. */
    requirements: texts,
    acceptance_criteria: z.array(acceptanceCriterion),
    threshold_overrides: anyRecord,
    additional_checks: z.array(checkDefinition),
  }),
  FEATURE_LENGTH_MAX,
);

export type Transition = ReplyOf<typeof transition>;
export type Topology = ReplyOf<typeof topology>;
export type CheckDefinition = ReplyOf<typeof checkDefinition>;
export type EdgeConfig = ReplyOf<typeof edgeConfig>;
export type TimeBoxRule = ReplyOf<typeof timeBoxRule>;
export type Profile = ReplyOf<typeof profile>;
export type RoleRegistry = ReplyOf<typeof roleRegistry>;
export type ClaimTimeouts = ReplyOf<typeof claimTimeouts>;
export type ModuleMap = ReplyOf<typeof moduleMap>;
export type ProjectConstraints = ReplyOf<typeof projectConstraints>;
export type Methodology = ReplyOf<typeof methodologySchema>;
export type AcceptanceCriterion = ReplyOf<typeof acceptanceCriterion>;
export type Feature = ReplyOf<typeof featureSchema>;

export type ParsedMethodology =
  | {
      readonly ok: true;
      readonly methodology: Methodology;
      readonly features: readonly Feature[];
      /** Values that were reinterpreted or ignored, for display. */
      readonly warnings: readonly ConfigFault[];
      /**
       * The faults of single files. Parts that depend on these files are left out or cannot converge; the rest is used.
       */
      readonly faults: readonly ConfigFault[];
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] };
