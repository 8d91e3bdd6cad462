import { z } from 'zod';
import { CHECK_TYPES } from '../../../contract/values.js';
import type { DocumentPath } from '../../../yaml/source-position.js';
import { canonicalEdge } from '../edge-name.js';
import type { Profile, TimeBoxRule } from '../methodology.js';
import { parseDuration } from '../time-box.js';
import { type EdgeNameIndex, fileStem } from './edge-names.js';
import {
  description,
  evaluatorNames,
  iterationCount,
  knownCheckTypes,
  optionalSection,
  orElse,
  shortText,
  shortTexts,
  timeBoxSchema,
} from './fields.js';
import type { YamlFile } from './yaml-file.js';

const evaluators = z.union([
  evaluatorNames,
  z.object({ evaluators: evaluatorNames }).transform((override) => override.evaluators),
]);
const schema = z.object({
  profile: shortText.nullish(),
  description,
  graph: z.object({
    include: z.union([z.literal('all'), shortTexts]),
    skip: orElse(shortTexts, []),
    optional: orElse(shortTexts, []),
  }),
  evaluators: optionalSection({
    default: orElse(evaluatorNames, CHECK_TYPES),
    overrides: orElse(z.record(z.string(), evaluators), {}),
  }),
  convergence: optionalSection({
    rule: orElse(shortText, 'all_required_checks_pass'),
    human_required_on_all_edges: orElse(z.boolean(), false),
    additional_condition: shortText.nullish(),
    max_iterations: iterationCount.nullish(),
    stuck_threshold: iterationCount.nullish(),
  }),
  iteration: optionalSection({ time_box: timeBoxSchema }),
  vector_types: z.union([z.enum(['any', 'all']), shortTexts]).nullish(),
});

/** After how many iterations a person has to decide, and after how many without progress an edge is stuck. */
export type IterationThresholds = Pick<Profile, 'max_iterations' | 'stuck_threshold'>;
/** Used if no file sets the thresholds. */
export const DEFAULT_THRESHOLDS: IterationThresholds = { max_iterations: 5, stuck_threshold: 3 };

/**
 * Parses a profile. Null if a field is not valid, or if none of the edges that it includes exists. Both are reported, except
 * that a built-in profile may name only missing edges.
 */
export function parseProfile(
  file: YamlFile,
  names: EdgeNameIndex,
  thresholdsOf: (profile: string) => IterationThresholds,
): Profile | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const { graph, convergence, vector_types } = parsed;
  const isAll = graph.include === 'all' || (graph.include.length === 1 && graph.include[0] === 'all');
  const resolveAll = (key: 'include' | 'skip' | 'optional', edgeNames: readonly string[]): string[] =>
    names.resolveAllOrWarn(edgeNames, file, ['graph', key]);
  const includedNames = isAll ? [] : (graph.include as string[]);
  const include = isAll ? 'all' : resolveAll('include', includedNames);
  if (include.length === 0) {
    const message = 'A profile must have at least one edge of the topology.';
    if (!file.isBuiltIn) file.fault(['graph', 'include'], message);
    return null;
  }
  const missingEdges = [
    ...new Set(includedNames.filter((edge) => names.find(edge) === null).map(canonicalEdge)),
  ];
  const evaluators_by_edge: Record<string, Profile['evaluators']> = {};
  for (const [edgeName, types] of Object.entries(parsed.evaluators.overrides)) {
    const edge = names.resolveOrWarn(edgeName, file, ['evaluators', 'overrides', edgeName]);
    const knownTypes = knownCheckTypes(types, file, ['evaluators', 'overrides', edgeName]);
    // An override that names only unknown types is ignored, because it would leave the edge without checks.
    if (edge !== null && (knownTypes.length > 0 || types.length === 0)) evaluators_by_edge[edge] = knownTypes;
  }
  const defaultTypes = knownCheckTypes(parsed.evaluators.default, file, ['evaluators', 'default']);
  const name = parsed.profile ?? fileStem(file.name);
  const defaults = thresholdsOf(name);
  const { additional_condition } = convergence;
  return {
    name,
    description: parsed.description,
    include,
    ...(missingEdges.length === 0 ? {} : { missing_edges: missingEdges }),
    skip: resolveAll('skip', graph.skip),
    optional: resolveAll('optional', graph.optional),
    evaluators: defaultTypes.length > 0 ? defaultTypes : [...CHECK_TYPES],
    evaluators_by_edge,
    convergence_rule: convergence.rule,
    ...(additional_condition ? { additional_condition } : {}),
    human_required_on_all_edges: convergence.human_required_on_all_edges,
    max_iterations: convergence.max_iterations ?? defaults.max_iterations,
    stuck_threshold: convergence.stuck_threshold ?? defaults.stuck_threshold,
    time_box: parseTimeBoxRule(parsed.iteration.time_box, file, ['iteration', 'time_box']),
    vector_types: Array.isArray(vector_types) ? vector_types : 'any',
  };
}

/**
 * The rule of a time box; null if there is none, if it is disabled, or if its duration is not valid, which is reported.
 * `check_in: none` means no check-in.
 */
export function parseTimeBoxRule(
  parsed: z.infer<typeof timeBoxSchema>,
  file: YamlFile,
  path: DocumentPath,
): TimeBoxRule | null {
  if (!parsed || parsed.enabled === false || !parsed.duration) return null;
  const duration_seconds = readDuration(parsed.duration, file, [...path, 'duration']);
  if (duration_seconds === null) return null;
  const { check_in, on_expiry } = parsed;
  const check_in_seconds =
    check_in && check_in !== 'none' ? readDuration(check_in, file, [...path, 'check_in']) : null;
  return { duration_seconds, check_in_seconds, on_expiry };
}

function readDuration(text: string, file: YamlFile, path: DocumentPath): number | null {
  const seconds = parseDuration(text);
  if (seconds === null) {
    const message = `${JSON.stringify(text)} is not a valid duration; use a form like "90 minutes", "4 hours", "1h30m" or "3 weeks".`;
    file.fault(path, message);
  }
  return seconds;
}
