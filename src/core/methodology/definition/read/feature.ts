import { z } from 'zod';
import { ID_LENGTH_MAX } from '../../../ids.js';
import { canonicalEdge } from '../edge-name.js';
import {
  type AcceptanceCriterion,
  CHECK_TYPES,
  type FeatureVector,
  PRIORITIES,
  VECTOR_TYPES,
} from '../methodology.js';
import { parseChecks } from './edge-config.js';
import { fileStem } from './edge-names.js';
import {
  booleanField,
  checksSchema,
  longText,
  openRecord,
  shortText,
  textOrNull,
  timeBoxSchema,
} from './fields.js';
import { parseTimeBoxRule } from './profile.js';
import type { YamlFile } from './yaml-file.js';

/**
 * Same grammar as other ids: `#` would end the id in the subject of an edge, and a leading `~` marks the project's own
 * records.
 */
const FEATURE_ID = /^[A-Za-z0-9][A-Za-z0-9._~@+-]*$/;
const CONVENTIONAL_FEATURE_ID = /^REQ-F-[A-Z0-9]+(-[A-Z0-9]+)*-\d{3,}$/;
const featureId = z
  .string()
  .max(ID_LENGTH_MAX, { error: `expected at most ${ID_LENGTH_MAX} characters`, abort: true })
  .regex(FEATURE_ID, { error: 'expected letters, digits and . _ ~ @ + -, as in REQ-F-AUTH-001' });

const criterion = z.object({
  id: shortText,
  description: longText.nullish(),
  evaluator: z.enum(CHECK_TYPES).nullish(),
  check: longText.nullish(),
  required: booleanField.nullish(),
});
const dependency = z.union([shortText, z.object({ feature: longText.nullish(), asset: longText.nullish() })]);
const keys = z.array(z.union([shortText, z.looseObject({ id: shortText.nullish() })])).max(1000);

const schema = z.object({
  feature: featureId.nullish(),
  title: longText.nullish(),
  intent: longText.nullish(),
  vector_type: z.enum(VECTOR_TYPES).nullish(),
  profile: shortText.nullish(),
  priority: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(PRIORITIES))
    .nullish(),
  created: longText.nullish(),
  time_box: timeBoxSchema.nullish(),
  parent: z
    .union([
      longText,
      z.object({ feature: longText.nullish(), edge: longText.nullish(), reason: longText.nullish() }),
    ])
    .nullish(),
  parent_id: longText.nullish(),
  dependencies: z.array(dependency).max(1000).nullish(),
  depends_on: z.array(dependency).max(1000).nullish(),
  requirements: keys.nullish(),
  satisfies: keys.nullish(),
  constraints: z
    .object({
      acceptance_criteria: z
        .array(z.union([longText, criterion]))
        .max(500)
        .nullish(),
      threshold_overrides: openRecord.nullish(),
      additional_checks: checksSchema.nullish(),
    })
    .nullish(),
  trajectory: z.unknown().optional(),
});
type ParsedFeatureFile = z.infer<typeof schema>;

/** Parses a vector file; the profile is empty if the file names none. */
export function parseFeature(file: YamlFile): FeatureVector | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const feature_id = idOf(parsed, file);
  if (feature_id === null) return null;
  if (hasTrajectoryProgress(parsed.trajectory)) {
    file.warn(
      ['trajectory'],
      'How far a feature is comes from the log; the trajectory here is not believed.',
    );
  }
  return {
    feature_id,
    title: textOrNull(parsed.title) ?? feature_id,
    intent: textOrNull(parsed.intent),
    vector_type: parsed.vector_type ?? 'feature',
    profile: parsed.profile ?? '',
    priority: parsed.priority ?? 'medium',
    created: textOrNull(parsed.created),
    time_box: timeBoxOf(parsed, file),
    parent: parentOf(parsed),
    dependencies: dependenciesOf(parsed),
    requirements: requirementsOf(parsed, feature_id),
    ...constraintFields(parsed, file),
  };
}

function idOf({ feature }: ParsedFeatureFile, file: YamlFile): string | null {
  const id = feature ?? fileStem(file.name);
  if (!featureId.safeParse(id).success) {
    file.fault(
      ['feature'],
      `"feature" is missing, and the name of the file is no id; write it as REQ-F-AUTH-001.`,
    );
    return null;
  }
  if (!feature) file.warn(['feature'], `"feature" is missing; the name of the file stands for it: ${id}.`);
  else if (!CONVENTIONAL_FEATURE_ID.test(id))
    file.warn(['feature'], `${id} is kept, though ids are usually written as REQ-F-AUTH-001.`);
  return id;
}

/** A trajectory from a template has no progress. */
function hasTrajectoryProgress(trajectory: unknown): boolean {
  if (typeof trajectory !== 'object' || trajectory === null) return false;
  return Object.values(trajectory).some(
    (step) => typeof step === 'object' && step !== null && !['pending', undefined].includes(step.status),
  );
}

function timeBoxOf(parsed: ParsedFeatureFile, file: YamlFile): FeatureVector['time_box'] {
  if (parsed.time_box?.enabled === true && !parsed.time_box.duration) {
    file.fault(
      ['time_box', 'duration'],
      '"duration" is missing: a time box that is enabled has one, as "1 week".',
    );
  }
  const rule = parseTimeBoxRule(parsed.time_box, file, ['time_box']);
  return rule === null ? null : { ...rule, started: textOrNull(parsed.time_box?.started) };
}

function parentOf(parsed: ParsedFeatureFile): FeatureVector['parent'] {
  const parent = typeof parsed.parent === 'string' ? { feature: parsed.parent } : (parsed.parent ?? {});
  const feature = textOrNull(parent.feature) ?? textOrNull(parsed.parent_id);
  if (feature === null) return null;
  const { edge = null, reason = null } = parent as { edge?: string | null; reason?: string | null };
  const at = textOrNull(edge);
  return { feature, edge: at === null ? null : canonicalEdge(at), reason: textOrNull(reason) ?? '' };
}

function dependenciesOf(parsed: ParsedFeatureFile): FeatureVector['dependencies'] {
  const found = new Map<string, { feature: string; asset: string | null }>();
  for (const entry of [...(parsed.dependencies ?? []), ...(parsed.depends_on ?? [])]) {
    const { feature, asset } = typeof entry === 'string' ? { feature: entry, asset: null } : entry;
    const named = textOrNull(feature);
    const part = textOrNull(asset);
    if (named !== null) found.set(`${named} ${part}`, { feature: named, asset: part });
  }
  return [...found.values()];
}

function requirementsOf(parsed: ParsedFeatureFile, featureId: string): string[] {
  const keys = [...(parsed.requirements ?? []), ...(parsed.satisfies ?? [])].map((key) =>
    textOrNull(typeof key === 'string' ? key : key.id),
  );
  return [...new Set([featureId, ...keys.filter((key) => key !== null)])];
}

function constraintFields({ constraints }: ParsedFeatureFile, file: YamlFile) {
  const path = ['constraints', 'additional_checks'];
  return {
    acceptance_criteria: (constraints?.acceptance_criteria ?? []).map(criterionOf),
    threshold_overrides: constraints?.threshold_overrides ?? {},
    additional_checks: parseChecks(constraints?.additional_checks ?? [], path, file, 'feature'),
  };
}

/** A criterion that is a plain sentence is evaluated by an agent and named after its index. */
function criterionOf(parsed: string | z.infer<typeof criterion>, at: number): AcceptanceCriterion {
  if (typeof parsed === 'string') {
    return { id: `AC-${at + 1}`, description: parsed, evaluator: 'agent', required: true };
  }
  const { id, description, evaluator, check, required } = parsed;
  return {
    id,
    description: description ?? id,
    evaluator: evaluator ?? 'agent',
    ...(check ? { check } : {}),
    required: required ?? true,
  };
}
