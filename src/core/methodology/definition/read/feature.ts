import { z } from 'zod';
import { PRIORITIES, VECTOR_TYPES } from '../../../contract/values.js';
import { ID_LENGTH_MAX } from '../../../ids.js';
import { canonicalEdge } from '../edge-name.js';
import type { AcceptanceCriterion, Feature } from '../methodology.js';
import { parseChecks } from './edge-config.js';
import { fileStem } from './edge-names.js';
import { canonicalFeature } from './feature-shapes.js';
import {
  anyRecord,
  checksSchema,
  knownCheckTypes,
  longText,
  optionalSection,
  optionalText,
  orElse,
  shortText,
  textOrNull,
  timeBoxSchema,
} from './fields.js';
import { parseTimeBoxRule } from './profile.js';
import type { YamlFile } from './yaml-file.js';

/**
 * The grammar of feature ids, the same as of other ids: `#` would end the id in the subject of an edge, and a leading `~`
 * marks the project's own records.
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
  evaluator: shortText.nullish(),
  check: longText.nullish(),
  required: orElse(z.boolean(), true),
});
const dependencyFields = z.object({ feature: optionalText, asset: optionalText });
const dependency = z.union([
  shortText.transform((feature) => dependencyFields.parse({ feature })),
  dependencyFields,
]);
const dependencies = orElse(z.array(dependency).max(1000), []);
const parentFields = z.object({ feature: optionalText, edge: optionalText, reason: optionalText });
const parent = z.union([longText.transform((feature) => parentFields.parse({ feature })), parentFields]);
const key = z.union([
  shortText.transform(textOrNull),
  z.looseObject({ id: shortText.nullish() }).transform(({ id }) => textOrNull(id)),
]);
const keys = orElse(z.array(key).max(1000), []);
const priority = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(z.enum(PRIORITIES));

const schema = z.object({
  feature: featureId.nullish(),
  title: optionalText,
  intent: optionalText,
  vector_type: orElse(z.enum(VECTOR_TYPES), 'feature'),
  profile: orElse(shortText, ''),
  priority: orElse(priority, 'medium'),
  created: optionalText,
  time_box: timeBoxSchema,
  parent: parent.nullish(),
  parent_id: optionalText,
  dependencies,
  depends_on: dependencies,
  requirements: keys,
  satisfies: keys,
  constraints: optionalSection({
    acceptance_criteria: orElse(z.array(z.union([longText, criterion])).max(500), []),
    threshold_overrides: anyRecord,
    additional_checks: checksSchema,
  }),
  trajectory: z.unknown().optional(),
});
type ParsedFeatureFile = z.infer<typeof schema>;

/** Parses the file of a feature. The profile is empty if the file does not name one. */
export function parseFeature(file: YamlFile): Feature | null {
  const parsed = file.parse(schema, canonicalFeature(file.value));
  if (parsed === null) return null;
  const feature_id = idOf(parsed, file);
  if (feature_id === null) return null;
  if (hasTrajectoryProgress(parsed.trajectory)) {
    file.warn(['trajectory'], 'Progress is read from the log; the trajectory in this file is ignored.');
  }
  const { intent, vector_type, profile, priority, created, constraints } = parsed;
  const requirementKeys = [...parsed.requirements, ...parsed.satisfies].filter(
    (requirement) => requirement !== null,
  );
  const checksPath = ['constraints', 'additional_checks'];
  return {
    feature_id,
    title: parsed.title ?? feature_id,
    intent,
    vector_type,
    profile,
    priority,
    created,
    time_box: timeBoxOf(parsed, file),
    parent: parentOf(parsed),
    dependencies: dependenciesOf(parsed),
    requirements: [...new Set([feature_id, ...requirementKeys])],
    acceptance_criteria: constraints.acceptance_criteria.map((entry, index) =>
      criterionOf(entry, index, file),
    ),
    threshold_overrides: constraints.threshold_overrides,
    additional_checks: parseChecks(constraints.additional_checks, checksPath, file, { source: 'feature' }),
  };
}

function idOf({ feature }: ParsedFeatureFile, file: YamlFile): string | null {
  const id = feature ?? fileStem(file.name);
  if (!featureId.safeParse(id).success) {
    const message = `"feature" is missing, and the file name is not a valid id; use the form REQ-F-AUTH-001.`;
    file.fault(['feature'], message);
    return null;
  }
  if (!feature) file.warn(['feature'], `"feature" is missing; using the file name as the id: ${id}.`);
  else if (!CONVENTIONAL_FEATURE_ID.test(id))
    file.warn(['feature'], `${id} is accepted, but the usual form of an id is REQ-F-AUTH-001.`);
  return id;
}

/** Whether a trajectory states progress. One that was only copied from a template does not. */
function hasTrajectoryProgress(trajectory: unknown): boolean {
  if (typeof trajectory !== 'object' || trajectory === null) return false;
  return Object.values(trajectory).some(
    (step) => typeof step === 'object' && step !== null && !['pending', undefined].includes(step.status),
  );
}

function timeBoxOf({ time_box }: ParsedFeatureFile, file: YamlFile): Feature['time_box'] {
  if (time_box?.enabled === true && !time_box.duration) {
    const message = '"duration" is missing: an enabled time box requires one, such as "1 week".';
    file.fault(['time_box', 'duration'], message);
  }
  const rule = parseTimeBoxRule(time_box, file, ['time_box']);
  return rule && { ...rule, started: time_box?.started ?? null };
}

function parentOf({ parent, parent_id }: ParsedFeatureFile): Feature['parent'] {
  const feature = parent?.feature ?? parent_id;
  if (feature === null) return null;
  return { feature, edge: parent?.edge ? canonicalEdge(parent.edge) : null, reason: parent?.reason ?? '' };
}

function dependenciesOf(parsed: ParsedFeatureFile): Feature['dependencies'] {
  const dependencyByKey = new Map<string, { feature: string; asset: string | null }>();
  for (const { feature, asset } of [...parsed.dependencies, ...parsed.depends_on]) {
    if (feature !== null) dependencyByKey.set(`${feature} ${asset}`, { feature, asset });
  }
  return [...dependencyByKey.values()];
}

/** A criterion that is a plain sentence is evaluated by an agent and named after its index. */
function criterionOf(
  parsed: string | z.infer<typeof criterion>,
  index: number,
  file: YamlFile,
): AcceptanceCriterion {
  if (typeof parsed === 'string') {
    return { id: `AC-${index + 1}`, description: parsed, evaluator: 'agent', required: true };
  }
  const { id, description, check, required } = parsed;
  const path = ['constraints', 'acceptance_criteria', index, 'evaluator'];
  const [evaluator = 'agent'] = knownCheckTypes(parsed.evaluator ? [parsed.evaluator] : [], file, path);
  return { id, description: description ?? id, evaluator, ...(check ? { check } : {}), required };
}
