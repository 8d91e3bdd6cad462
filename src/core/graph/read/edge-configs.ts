import { canonicalEdge } from '../edge-name.js';
import type { Check, EdgeConfig, Transition } from '../methodology.js';
import { bareConfig, type EdgeFile } from './edge-config.js';
import type { EdgeNames } from './edge-names.js';
import { checkOf, checksSchema } from './fields.js';
import type { TopologyReading } from './topology.js';

/** Files that only add to an edge which has a file of its own. */
const PARTS_OF_AN_EDGE: ReadonlySet<string> = new Set(['adr']);
/** About no edge: composed into those that make code or tests. */
const TAGGING = 'code_tagging';
const TAGGED_ASSETS: ReadonlySet<string> = new Set(['code', 'unit_tests']);
/** About no edge: where checks of the source `traceability` have their commands. */
const TRACEABILITY = 'traceability';

/** What each edge of the topology asks: by its own file, else by the built-in one, else by its transition alone. */
export function composeEdges(
  { file: topologyFile, topology, names }: TopologyReading,
  written: readonly EdgeFile[],
  builtIn: (edge: string) => EdgeFile | null,
): Record<string, EdgeConfig> {
  for (const { file, stem, edge } of written) {
    if (edge === null && stem !== TAGGING && stem !== TRACEABILITY) {
      file.warn([], 'The file says of no edge that it is about it, and is left out.');
    }
  }
  const commands = traceabilityChecks(written);
  const edges: Record<string, EdgeConfig> = {};
  for (const transition of topology.transitions) {
    const { edge } = transition;
    const main = mainFile(edge, names, written) ?? builtIn(edge);
    if (main === null)
      topologyFile.warn(
        ['transitions'],
        `No file says what ${edge} asks: it asks for one check of each of its evaluators.`,
      );
    const config = main === null ? bareConfig(transition) : { edge, ...main.config };
    const parts = written.filter((one) => one !== main && isPart(one, transition));
    const checks = [config, ...parts.map((part) => part.config)].flatMap(({ checklist }) => checklist);
    edges[edge] = {
      ...config,
      checklist: firstOfEachName(checks).map((check) => commanded(check, commands)),
    };
  }
  return edges;
}

function mainFile(edge: string, names: EdgeNames, files: readonly EdgeFile[]): EdgeFile | null {
  const candidates = files.filter(({ stem }) => !PARTS_OF_AN_EDGE.has(stem));
  const named = names.config_stems.get(edge);
  return (
    candidates.find(({ stem }) => stem === named) ??
    candidates.find((one) => one.edge === edge && canonicalEdge(one.stem) === edge) ??
    candidates.find((one) => one.edge === edge) ??
    null
  );
}

function isPart({ edge, stem }: EdgeFile, transition: Transition): boolean {
  if (edge === transition.edge) return PARTS_OF_AN_EDGE.has(stem);
  return edge === null && stem === TAGGING && TAGGED_ASSETS.has(transition.target);
}

const firstOfEachName = (checks: readonly Check[]): Check[] => {
  const byName = new Map<string, Check>();
  for (const check of checks) if (!byName.has(check.name)) byName.set(check.name, check);
  return [...byName.values()];
};

/** Its checks stand in lists by layer: `layer_1_req_coverage`, and so on. */
function traceabilityChecks(files: readonly EdgeFile[]): ReadonlyMap<string, Check> {
  const checks = new Map<string, Check>();
  const extra = files.find(({ stem }) => stem === TRACEABILITY)?.config.extra ?? {};
  for (const [name, layer] of Object.entries(extra)) {
    const said = name.startsWith('layer_') ? checksSchema.safeParse(layer) : null;
    for (const check of said?.data ?? []) checks.set(check.name, checkOf(check));
  }
  return checks;
}

function commanded(check: Check, commands: ReadonlyMap<string, Check>): Check {
  if (check.source !== 'traceability' || check.command !== undefined) return check;
  const { command, pass_criterion } = commands.get(check.name) ?? {};
  if (command === undefined) return check;
  return { ...check, command, ...(pass_criterion === undefined ? {} : { pass_criterion }) };
}
