import { z } from 'zod';
import type { Path } from '../../yaml/place.js';
import { CHECK_TYPES, type CheckType, type Profile, type TimeBoxRule } from '../methodology.js';
import { parseDuration } from '../time-box.js';
import { type EdgeNames, stemOf } from './edge-names.js';
import { budget, checkTypes, flag, label, labels, timeBoxSchema, words } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const anyOf = (word: string) => z.union([z.literal(word), labels]);
const schema = z.object({
  profile: label.nullish(),
  description: words.nullish(),
  graph: z.object({ include: anyOf('all'), skip: labels.nullish(), optional: labels.nullish() }),
  evaluators: z
    .object({
      default: checkTypes.nullish(),
      overrides: z.record(z.string(), z.union([checkTypes, z.object({ evaluators: checkTypes })])).nullish(),
    })
    .nullish(),
  convergence: z
    .object({
      rule: label.nullish(),
      human_required_on_all_edges: flag.nullish(),
      additional_condition: label.nullish(),
      max_iterations: budget.nullish(),
      stuck_threshold: budget.nullish(),
    })
    .nullish(),
  iteration: z.object({ time_box: timeBoxSchema.nullish() }).nullish(),
  vector_types: z.union([z.enum(['any', 'all']), labels]).nullish(),
});
type Said = z.infer<typeof schema>;

/** Iterations before a human is asked, and equal deltas before work is stuck, where neither file says them. */
export type Thresholds = Pick<Profile, 'max_iterations' | 'stuck_threshold'>;
export const THRESHOLDS: Thresholds = { max_iterations: 5, stuck_threshold: 3 };

/** Null where it cannot be used: with its faults told, or, of a built-in, because none of its edges exist. */
export function readProfile(
  file: YamlFile,
  names: EdgeNames,
  thresholdsOf: (profile: string) => Thresholds,
): Profile | null {
  const said = file.fits(schema);
  if (said === null) return null;
  const name = said.profile ?? stemOf(file.name);
  const edges = new ListedEdges(file, names);
  const include = includedOf(said, edges);
  if (include.length === 0) {
    if (said.graph.include.length === 0) file.fault(['graph', 'include'], 'A profile has at least one edge.');
    return null;
  }
  const { convergence } = said;
  const usual = thresholdsOf(name);
  return {
    name,
    description: said.description?.trim() ?? '',
    include,
    skip: edges.read(said.graph.skip ?? [], ['graph', 'skip']),
    optional: edges.read(said.graph.optional ?? [], ['graph', 'optional']),
    evaluators: said.evaluators?.default ?? CHECK_TYPES,
    evaluators_by_edge: overridesOf(said, edges),
    convergence_rule: convergence?.rule ?? 'all_required_checks_pass',
    ...(convergence?.additional_condition ? { additional_condition: convergence.additional_condition } : {}),
    human_required_on_all_edges: convergence?.human_required_on_all_edges ?? false,
    max_iterations: convergence?.max_iterations ?? usual.max_iterations,
    stuck_threshold: convergence?.stuck_threshold ?? usual.stuck_threshold,
    time_box: timeBoxRule(said.iteration?.time_box, file, ['iteration', 'time_box']),
    vector_types: vectorTypesOf(said),
  };
}

function includedOf(said: Said, edges: ListedEdges): readonly string[] | 'all' {
  const { include } = said.graph;
  if (typeof include === 'string' || (include.length === 1 && include[0] === 'all')) return 'all';
  return edges.read(include, ['graph', 'include']);
}

function overridesOf(said: Said, edges: ListedEdges): Record<string, readonly CheckType[]> {
  const byEdge: Record<string, readonly CheckType[]> = {};
  for (const [name, types] of Object.entries(said.evaluators?.overrides ?? {})) {
    const edge = edges.one(name, ['evaluators', 'overrides', name]);
    if (edge !== null) byEdge[edge] = Array.isArray(types) ? types : types.evaluators;
  }
  return byEdge;
}

function vectorTypesOf({ vector_types }: Said): readonly string[] | 'any' {
  return Array.isArray(vector_types) ? vector_types : 'any';
}

/** Null: there is none. `check_in: none` is none as well. */
export function timeBoxRule(
  said: z.infer<typeof timeBoxSchema> | null | undefined,
  file: YamlFile,
  path: Path,
): TimeBoxRule | null {
  if (!said || said.enabled === false || !said.duration) return null;
  const duration_seconds = secondsOf(said.duration, file, [...path, 'duration']);
  if (duration_seconds === null) return null;
  const check_in = said.check_in && said.check_in !== 'none' ? said.check_in : null;
  return {
    duration_seconds,
    check_in_seconds: check_in === null ? null : secondsOf(check_in, file, [...path, 'check_in']),
    on_expiry: said.on_expiry ?? 'fold_back',
  };
}

function secondsOf(text: string, file: YamlFile, path: Path): number | null {
  const seconds = parseDuration(text);
  if (seconds === null) {
    file.fault(
      path,
      `${JSON.stringify(text)} is no duration; write it as "90 minutes", "4 hours", "1h30m" or "3 weeks".`,
    );
  }
  return seconds;
}

/** Names of edges in a file; one that the topology does not have is a fault where it stands. */
export class ListedEdges {
  constructor(
    private readonly file: YamlFile,
    private readonly names: EdgeNames,
  ) {}

  read(listed: readonly string[], path: Path): string[] {
    const edges = listed.map((name, at) => this.one(name, [...path, at]));
    return [...new Set(edges.filter((edge) => edge !== null))];
  }

  one(name: string, path: Path): string | null {
    const edge = this.names.find(name);
    if (edge === null && !this.file.is_built_in) {
      const known = this.names.all.join(', ');
      this.file.fault(path, `The topology has no edge ${JSON.stringify(name)}; it has ${known}.`);
    }
    return edge;
  }
}
