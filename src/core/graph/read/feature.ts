import { z } from 'zod';
import { ID_LENGTH_MAX } from '../../ids.js';
import { canonicalEdge } from '../edge-name.js';
import {
  type AcceptanceCriterion,
  CHECK_TYPES,
  type FeatureVector,
  PRIORITIES,
  VECTOR_TYPES,
} from '../methodology.js';
import { checksOf } from './edge-config.js';
import { stemOf } from './edge-names.js';
import { checksSchema, filled, flag, label, openRecord, timeBoxSchema, words } from './fields.js';
import { timeBoxRule } from './profile.js';
import type { YamlFile } from './yaml-file.js';

/** Like every other id; `#` would end it in the subject of an edge, and `~` begins the project's own records. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._~@+-]*$/;
const USUAL_ID = /^REQ-F-[A-Z0-9]+(-[A-Z0-9]+)*-\d{3,}$/;
const featureId = z
  .string()
  .max(ID_LENGTH_MAX, { error: `expected at most ${ID_LENGTH_MAX} characters`, abort: true })
  .regex(ID, { error: 'expected letters, digits and . _ ~ @ + -, as in REQ-F-AUTH-001' });

const criterion = z.object({
  id: label,
  description: words.nullish(),
  evaluator: z.enum(CHECK_TYPES).nullish(),
  check: words.nullish(),
  required: flag.nullish(),
});
const dependency = z.union([label, z.object({ feature: words.nullish(), asset: words.nullish() })]);
const keys = z.array(z.union([label, z.looseObject({ id: label.nullish() })])).max(1000);

const schema = z.object({
  feature: featureId.nullish(),
  title: words.nullish(),
  intent: words.nullish(),
  vector_type: z.enum(VECTOR_TYPES).nullish(),
  profile: label.nullish(),
  priority: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(PRIORITIES))
    .nullish(),
  created: words.nullish(),
  time_box: timeBoxSchema.nullish(),
  parent: z
    .union([words, z.object({ feature: words.nullish(), edge: words.nullish(), reason: words.nullish() })])
    .nullish(),
  parent_id: words.nullish(),
  dependencies: z.array(dependency).max(1000).nullish(),
  depends_on: z.array(dependency).max(1000).nullish(),
  requirements: keys.nullish(),
  satisfies: keys.nullish(),
  constraints: z
    .object({
      acceptance_criteria: z
        .array(z.union([words, criterion]))
        .max(500)
        .nullish(),
      threshold_overrides: openRecord.nullish(),
      additional_checks: checksSchema.nullish(),
    })
    .nullish(),
  trajectory: z.unknown().optional(),
});
type Said = z.infer<typeof schema>;

/** A vector as its file says it; its profile is empty where the file names none. */
export function readFeature(file: YamlFile): FeatureVector | null {
  const said = file.fits(schema);
  if (said === null) return null;
  const feature_id = idOf(said, file);
  if (feature_id === null) return null;
  if (hasProgress(said.trajectory)) {
    file.warn(
      ['trajectory'],
      'How far a feature is comes from the log; the trajectory here is not believed.',
    );
  }
  return {
    feature_id,
    title: filled(said.title) ?? feature_id,
    intent: filled(said.intent),
    vector_type: said.vector_type ?? 'feature',
    profile: said.profile ?? '',
    priority: said.priority ?? 'medium',
    created: filled(said.created),
    time_box: timeBoxOf(said, file),
    parent: parentOf(said),
    dependencies: dependenciesOf(said),
    requirements: requirementsOf(said, feature_id),
    ...asked(said, file),
  };
}

function idOf({ feature }: Said, file: YamlFile): string | null {
  const id = feature ?? stemOf(file.name);
  if (!featureId.safeParse(id).success) {
    file.fault(
      ['feature'],
      `"feature" is missing, and the name of the file is no id; write it as REQ-F-AUTH-001.`,
    );
    return null;
  }
  if (!feature) file.warn(['feature'], `"feature" is missing; the name of the file stands for it: ${id}.`);
  else if (!USUAL_ID.test(id))
    file.warn(['feature'], `${id} is kept, though ids are usually written as REQ-F-AUTH-001.`);
  return id;
}

/** A template's trajectory says nothing yet. */
function hasProgress(trajectory: unknown): boolean {
  if (typeof trajectory !== 'object' || trajectory === null) return false;
  return Object.values(trajectory).some(
    (step) => typeof step === 'object' && step !== null && !['pending', undefined].includes(step.status),
  );
}

function timeBoxOf(said: Said, file: YamlFile): FeatureVector['time_box'] {
  if (said.time_box?.enabled === true && !said.time_box.duration) {
    file.fault(
      ['time_box', 'duration'],
      '"duration" is missing: a time box that is enabled has one, as "1 week".',
    );
  }
  const rule = timeBoxRule(said.time_box, file, ['time_box']);
  return rule === null ? null : { ...rule, started: filled(said.time_box?.started) };
}

function parentOf(said: Said): FeatureVector['parent'] {
  const parent = typeof said.parent === 'string' ? { feature: said.parent } : (said.parent ?? {});
  const feature = filled(parent.feature) ?? filled(said.parent_id);
  if (feature === null) return null;
  const { edge = null, reason = null } = parent as { edge?: string | null; reason?: string | null };
  const at = filled(edge);
  return { feature, edge: at === null ? null : canonicalEdge(at), reason: filled(reason) ?? '' };
}

function dependenciesOf(said: Said): FeatureVector['dependencies'] {
  const found = new Map<string, { feature: string; asset: string | null }>();
  for (const entry of [...(said.dependencies ?? []), ...(said.depends_on ?? [])]) {
    const { feature, asset } = typeof entry === 'string' ? { feature: entry, asset: null } : entry;
    const named = filled(feature);
    const part = filled(asset);
    if (named !== null) found.set(`${named} ${part}`, { feature: named, asset: part });
  }
  return [...found.values()];
}

function requirementsOf(said: Said, feature_id: string): string[] {
  const keys = [...(said.requirements ?? []), ...(said.satisfies ?? [])].map((key) =>
    filled(typeof key === 'string' ? key : key.id),
  );
  return [...new Set([feature_id, ...keys.filter((key) => key !== null)])];
}

function asked({ constraints }: Said, file: YamlFile) {
  const path = ['constraints', 'additional_checks'];
  return {
    acceptance_criteria: (constraints?.acceptance_criteria ?? []).map(criterionOf),
    threshold_overrides: constraints?.threshold_overrides ?? {},
    additional_checks: checksOf(constraints?.additional_checks ?? [], path, file, 'feature'),
  };
}

/** A criterion that is only a sentence is judged by an agent, and named by its place. */
function criterionOf(said: string | z.infer<typeof criterion>, at: number): AcceptanceCriterion {
  if (typeof said === 'string') {
    return { id: `AC-${at + 1}`, description: said, evaluator: 'agent', required: true };
  }
  const { id, description, evaluator, check, required } = said;
  return {
    id,
    description: description ?? id,
    evaluator: evaluator ?? 'agent',
    ...(check ? { check } : {}),
    required: required ?? true,
  };
}
