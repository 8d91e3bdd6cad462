import { z } from 'zod';
import {
  AUTHORITY_ACTIONS,
  CHECK_TYPES,
  EXPIRY_ACTIONS,
  type FeatureVector,
  type Methodology,
  PRIORITIES,
  VECTOR_TYPES,
} from './methodology.js';

/** Maximum length in characters of JSON: the log stores these records whole. */
export const METHODOLOGY_LENGTH_MAX = 512 * 1024;
export const FEATURE_LENGTH_MAX = 64 * 1024;

const text = z.string();
const texts = z.array(text);
const types = z.array(z.enum(CHECK_TYPES));
const openRecord = z.record(text, z.unknown());
const listsByName = z.record(text, texts);
const positiveInt = z.int().positive();

const check = z.strictObject({
  name: text,
  type: z.enum(CHECK_TYPES),
  criterion: text,
  required: z.union([z.boolean(), text]),
  source: text,
  command: text.exactOptional(),
  pass_criterion: text.exactOptional(),
});

const timeBox = {
  duration_seconds: positiveInt,
  check_in_seconds: positiveInt.nullable(),
  on_expiry: z.enum(EXPIRY_ACTIONS),
};

const topology = z.strictObject({
  asset_types: z.array(z.strictObject({ name: text, description: text, markov_criteria: texts })),
  transitions: z.array(
    z.strictObject({
      edge: text,
      name: text,
      source: text,
      target: text,
      edge_type: z.enum(['standard', 'co_evolution']),
      evaluators: types,
    }),
  ),
  constraint_dimensions: z.array(z.strictObject({ name: text, mandatory: z.boolean() })),
});

const edgeConfig = z.strictObject({
  edge: text,
  description: text,
  checklist: z.array(check),
  max_iterations: positiveInt.nullable(),
  stuck_threshold: positiveInt.nullable(),
  human_required: z.boolean(),
  extra: openRecord,
});

const profile = z.strictObject({
  name: text,
  description: text,
  include: z.union([z.literal('all'), texts]),
  skip: texts,
  optional: texts,
  evaluators: types,
  evaluators_by_edge: z.record(text, types),
  convergence_rule: text,
  additional_condition: text.exactOptional(),
  human_required_on_all_edges: z.boolean(),
  max_iterations: positiveInt,
  stuck_threshold: positiveInt,
  time_box: z.strictObject(timeBox).nullable(),
  vector_types: z.union([z.literal('any'), texts]),
});

const roles = z.strictObject({
  roles: z.record(
    text,
    z.strictObject({ description: text, converge_edges: z.union([z.literal('all'), texts]) }),
  ),
  outside_authority_action: z.enum(AUTHORITY_ACTIONS),
  spec_mutation_requires_human: z.boolean(),
});

const claims = z.strictObject({
  stale_threshold_seconds: positiveInt.exactOptional(),
  claim_ttl_seconds: positiveInt.exactOptional(),
  on_ttl: z.enum(['hold', 'takeover']).exactOptional(),
  max_hold_seconds: positiveInt.exactOptional(),
});

const constraints = z.strictObject({
  project_name: text.nullable(),
  language: text.nullable(),
  tools: openRecord,
  thresholds: openRecord,
  standards: openRecord,
  architecture: openRecord,
  constraint_dimensions: openRecord,
});

const withinLength = (lengthMax: number) => (value: unknown) => JSON.stringify(value).length <= lengthMax;

/** Schema of the record `~methodology`, in normal form. */
export const methodologySchema: z.ZodType<Methodology> = z
  .strictObject({
    mode: z.enum(['single', 'multi']),
    default_profile: text,
    topology,
    edges: z.record(text, edgeConfig),
    profiles: z.record(text, profile),
    roles,
    parallelism: z.strictObject({ enforce: z.boolean() }),
    claims: claims.exactOptional(),
    modules: z.strictObject({ feature_module_map: listsByName, dependency_dag: listsByName }).nullable(),
    constraints,
    has_intent: z.boolean(),
  })
  .refine(withinLength(METHODOLOGY_LENGTH_MAX), {
    error: `expected at most ${METHODOLOGY_LENGTH_MAX} characters of JSON`,
  });

/** Schema of the record `~feature/<id>`: the definition of a feature. */
export const featureVectorSchema: z.ZodType<FeatureVector> = z
  .strictObject({
    feature_id: text,
    title: text,
    intent: text.nullable(),
    vector_type: z.enum(VECTOR_TYPES),
    profile: text,
    priority: z.enum(PRIORITIES),
    created: text.nullable(),
    time_box: z.strictObject({ ...timeBox, started: text.nullable() }).nullable(),
    parent: z.strictObject({ feature: text, edge: text.nullable(), reason: text }).nullable(),
    dependencies: z.array(z.strictObject({ feature: text, asset: text.nullable() })),
    requirements: texts,
    acceptance_criteria: z.array(
      z.strictObject({
        id: text,
        description: text,
        evaluator: z.enum(CHECK_TYPES),
        check: text.exactOptional(),
        required: z.boolean(),
      }),
    ),
    threshold_overrides: openRecord,
    additional_checks: z.array(check),
  })
  .refine(withinLength(FEATURE_LENGTH_MAX), {
    error: `expected at most ${FEATURE_LENGTH_MAX} characters of JSON`,
  });
