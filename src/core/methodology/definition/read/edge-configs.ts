import { canonicalEdge } from '../edge-name.js';
import type { CheckDefinition, EdgeConfig, Transition } from '../methodology.js';
import { defaultEdgeConfig, type ParsedEdgeFile } from './edge-config.js';
import type { EdgeNameIndex } from './edge-names.js';
import { checksSchema, parseCheck } from './fields.js';
import type { ParsedTopology } from './topology.js';

/** Files that only add to an edge with a file of its own. */
const SUPPLEMENTARY_STEMS: ReadonlySet<string> = new Set(['adr']);
/** Belongs to no edge: merged into the edges that produce code or tests. */
const TAGGING_STEM = 'code_tagging';
const TAGGED_ASSETS: ReadonlySet<string> = new Set(['code', 'unit_tests']);
/** Belongs to no edge: has the commands of checks with the source `traceability`. */
const TRACEABILITY_STEM = 'traceability';

/** Builds the config of each edge: from its own file, otherwise from the built-in one, otherwise from its transition. */
export function composeEdgeConfigs(
  { file: topologyFile, topology, names }: ParsedTopology,
  fromFiles: readonly ParsedEdgeFile[],
  builtIn: (edge: string) => ParsedEdgeFile | null,
): Record<string, EdgeConfig> {
  for (const { file, stem, edge } of fromFiles) {
    if (edge === null && stem !== TAGGING_STEM && stem !== TRACEABILITY_STEM) {
      file.warn([], 'The file says of no edge that it is about it, and is left out.');
    }
  }
  const commands = traceabilityChecks(fromFiles);
  const edges: Record<string, EdgeConfig> = {};
  for (const transition of topology.transitions) {
    const { edge } = transition;
    const mainConfigFile = mainFile(edge, names, fromFiles) ?? builtIn(edge);
    if (mainConfigFile === null)
      topologyFile.warn(
        ['transitions'],
        `No file says what ${edge} asks: it asks for one check of each of its evaluators.`,
      );
    const config =
      mainConfigFile === null ? defaultEdgeConfig(transition) : { edge, ...mainConfigFile.config };
    const parts = fromFiles.filter((one) => one !== mainConfigFile && isSupplement(one, transition));
    const checks = [config, ...parts.map((part) => part.config)].flatMap(({ checklist }) => checklist);
    edges[edge] = {
      ...config,
      checklist: uniqueByName(checks).map((check) => withTraceabilityCommand(check, commands)),
    };
  }
  return edges;
}

function mainFile(
  edge: string,
  names: EdgeNameIndex,
  files: readonly ParsedEdgeFile[],
): ParsedEdgeFile | null {
  const candidates = files.filter(({ stem }) => !SUPPLEMENTARY_STEMS.has(stem));
  const named = names.configStems.get(edge);
  return (
    candidates.find(({ stem }) => stem === named) ??
    candidates.find((one) => one.edge === edge && canonicalEdge(one.stem) === edge) ??
    candidates.find((one) => one.edge === edge) ??
    null
  );
}

function isSupplement({ edge, stem }: ParsedEdgeFile, transition: Transition): boolean {
  if (edge === transition.edge) return SUPPLEMENTARY_STEMS.has(stem);
  return edge === null && stem === TAGGING_STEM && TAGGED_ASSETS.has(transition.target);
}

const uniqueByName = (checks: readonly CheckDefinition[]): CheckDefinition[] => {
  const byName = new Map<string, CheckDefinition>();
  for (const check of checks) if (!byName.has(check.name)) byName.set(check.name, check);
  return [...byName.values()];
};

/** The checks of the traceability file, which lists them by layer: `layer_1_req_coverage`, and so on. */
function traceabilityChecks(files: readonly ParsedEdgeFile[]): ReadonlyMap<string, CheckDefinition> {
  const checks = new Map<string, CheckDefinition>();
  const extra = files.find(({ stem }) => stem === TRACEABILITY_STEM)?.config.extra ?? {};
  for (const [name, layer] of Object.entries(extra)) {
    const parsed = name.startsWith('layer_') ? checksSchema.safeParse(layer) : null;
    for (const check of parsed?.data ?? []) checks.set(check.name, parseCheck(check));
  }
  return checks;
}

function withTraceabilityCommand(
  check: CheckDefinition,
  commands: ReadonlyMap<string, CheckDefinition>,
): CheckDefinition {
  if (check.source !== 'traceability' || check.command !== undefined) return check;
  const { command, pass_criterion } = commands.get(check.name) ?? {};
  if (command === undefined) return check;
  return { ...check, command, ...(pass_criterion === undefined ? {} : { pass_criterion }) };
}
