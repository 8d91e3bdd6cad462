import { z } from 'zod';
import type { DocumentPath } from '../../../yaml/source-position.js';
import { CHECK_TYPES, type CheckType, type Profile, type TimeBoxRule } from '../methodology.js';
import { parseDuration } from '../time-box.js';
import { type EdgeNameIndex, fileStem } from './edge-names.js';
import {
  booleanField,
  checkTypes,
  iterationCount,
  longText,
  shortText,
  shortTexts,
  timeBoxSchema,
} from './fields.js';
import type { YamlFile } from './yaml-file.js';

const anyOf = (word: string) => z.union([z.literal(word), shortTexts]);
const schema = z.object({
  profile: shortText.nullish(),
  description: longText.nullish(),
  graph: z.object({ include: anyOf('all'), skip: shortTexts.nullish(), optional: shortTexts.nullish() }),
  evaluators: z
    .object({
      default: checkTypes.nullish(),
      overrides: z.record(z.string(), z.union([checkTypes, z.object({ evaluators: checkTypes })])).nullish(),
    })
    .nullish(),
  convergence: z
    .object({
      rule: shortText.nullish(),
      human_required_on_all_edges: booleanField.nullish(),
      additional_condition: shortText.nullish(),
      max_iterations: iterationCount.nullish(),
      stuck_threshold: iterationCount.nullish(),
    })
    .nullish(),
  iteration: z.object({ time_box: timeBoxSchema.nullish() }).nullish(),
  vector_types: z.union([z.enum(['any', 'all']), shortTexts]).nullish(),
});
type ParsedProfileFile = z.infer<typeof schema>;

/** Iterations before a human is asked, and equal deltas before work is stuck; used if neither file sets them. */
export type IterationThresholds = Pick<Profile, 'max_iterations' | 'stuck_threshold'>;
export const DEFAULT_THRESHOLDS: IterationThresholds = { max_iterations: 5, stuck_threshold: 3 };

/** Parses a profile. Null if it is unusable: its faults are reported, or, if built in, none of its edges exist. */
export function parseProfile(
  file: YamlFile,
  names: EdgeNameIndex,
  thresholdsOf: (profile: string) => IterationThresholds,
): Profile | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const name = parsed.profile ?? fileStem(file.name);
  const edges = new EdgeListResolver(file, names);
  const include = includedEdges(parsed, edges);
  if (include.length === 0) {
    if (parsed.graph.include.length === 0)
      file.fault(['graph', 'include'], 'A profile has at least one edge.');
    return null;
  }
  const { convergence } = parsed;
  const defaults = thresholdsOf(name);
  return {
    name,
    description: parsed.description?.trim() ?? '',
    include,
    skip: edges.resolveAll(parsed.graph.skip ?? [], ['graph', 'skip']),
    optional: edges.resolveAll(parsed.graph.optional ?? [], ['graph', 'optional']),
    evaluators: parsed.evaluators?.default ?? CHECK_TYPES,
    evaluators_by_edge: evaluatorOverrides(parsed, edges),
    convergence_rule: convergence?.rule ?? 'all_required_checks_pass',
    ...(convergence?.additional_condition ? { additional_condition: convergence.additional_condition } : {}),
    human_required_on_all_edges: convergence?.human_required_on_all_edges ?? false,
    max_iterations: convergence?.max_iterations ?? defaults.max_iterations,
    stuck_threshold: convergence?.stuck_threshold ?? defaults.stuck_threshold,
    time_box: parseTimeBoxRule(parsed.iteration?.time_box, file, ['iteration', 'time_box']),
    vector_types: vectorTypesOf(parsed),
  };
}

function includedEdges(parsed: ParsedProfileFile, edges: EdgeListResolver): readonly string[] | 'all' {
  const { include } = parsed.graph;
  if (typeof include === 'string' || (include.length === 1 && include[0] === 'all')) return 'all';
  return edges.resolveAll(include, ['graph', 'include']);
}

function evaluatorOverrides(
  parsed: ParsedProfileFile,
  edges: EdgeListResolver,
): Record<string, readonly CheckType[]> {
  const byEdge: Record<string, readonly CheckType[]> = {};
  for (const [name, types] of Object.entries(parsed.evaluators?.overrides ?? {})) {
    const edge = edges.resolve(name, ['evaluators', 'overrides', name]);
    if (edge !== null) byEdge[edge] = Array.isArray(types) ? types : types.evaluators;
  }
  return byEdge;
}

function vectorTypesOf({ vector_types }: ParsedProfileFile): readonly string[] | 'any' {
  return Array.isArray(vector_types) ? vector_types : 'any';
}

/** Null if there is no time box. `check_in: none` means no check-in. */
export function parseTimeBoxRule(
  parsed: z.infer<typeof timeBoxSchema> | null | undefined,
  file: YamlFile,
  path: DocumentPath,
): TimeBoxRule | null {
  if (!parsed || parsed.enabled === false || !parsed.duration) return null;
  const duration_seconds = parseSeconds(parsed.duration, file, [...path, 'duration']);
  if (duration_seconds === null) return null;
  const checkIn = parsed.check_in && parsed.check_in !== 'none' ? parsed.check_in : null;
  return {
    duration_seconds,
    check_in_seconds: checkIn === null ? null : parseSeconds(checkIn, file, [...path, 'check_in']),
    on_expiry: parsed.on_expiry ?? 'fold_back',
  };
}

function parseSeconds(text: string, file: YamlFile, path: DocumentPath): number | null {
  const seconds = parseDuration(text);
  if (seconds === null) {
    file.fault(
      path,
      `${JSON.stringify(text)} is no duration; write it as "90 minutes", "4 hours", "1h30m" or "3 weeks".`,
    );
  }
  return seconds;
}

/** Resolves the edge names in a file; an edge that the topology does not have is reported as a fault. */
export class EdgeListResolver {
  constructor(
    private readonly file: YamlFile,
    private readonly names: EdgeNameIndex,
  ) {}

  resolveAll(listed: readonly string[], path: DocumentPath): string[] {
    const edges = listed.map((name, at) => this.resolve(name, [...path, at]));
    return [...new Set(edges.filter((edge) => edge !== null))];
  }

  resolve(name: string, path: DocumentPath): string | null {
    const edge = this.names.find(name);
    if (edge === null && !this.file.isBuiltIn) {
      const known = this.names.all.join(', ');
      this.file.fault(path, `The topology has no edge ${JSON.stringify(name)}; it has ${known}.`);
    }
    return edge;
  }
}
