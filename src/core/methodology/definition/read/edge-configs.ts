import { canonicalEdge } from '../edge-name.js';
import type { CheckDefinition, EdgeConfig, Transition } from '../methodology.js';
import { defaultEdgeConfig, type ParsedEdgeFile, TRACEABILITY_STEM } from './edge-config.js';
import type { EvaluatorDefaults } from './evaluator-defaults.js';
import { checksSchema, parseCheck, withoutEmptyFields } from './fields.js';
import type { ParsedTopology } from './topology.js';

/** Names of files, without their extension, that only add checks to an edge that has its own file. */
const SUPPLEMENTARY_STEMS: ReadonlySet<string> = new Set(['adr']);
/** The checks of the file of this name are added to each edge whose target is one of `TAGGED_ASSETS`. */
const TAGGING_STEM = 'code_tagging';
const TAGGED_ASSETS: ReadonlySet<string> = new Set(['code', 'unit_tests']);

/** Builds the config of each edge: from its own file, otherwise from the built-in one, otherwise from its transition. */
export function composeEdgeConfigs(
  { file: topologyFile, topology, names }: ParsedTopology,
  edgeFiles: readonly ParsedEdgeFile[],
  builtIn: (edge: string) => ParsedEdgeFile | null,
  defaults: EvaluatorDefaults,
): Record<string, EdgeConfig> {
  for (const { file, stem, edge } of edgeFiles) {
    if (edge === null && stem !== TAGGING_STEM && stem !== TRACEABILITY_STEM) {
      file.warn(
        [],
        `The file is ignored: neither its field \`edge\` nor its name (${stem}) is an edge of the topology. Add its edge, for example: edge: design→code`,
      );
    }
  }
  const traceabilityByName = traceabilityChecks(edgeFiles);
  const edges: Record<string, EdgeConfig> = {};
  for (const transition of topology.transitions) {
    const { edge } = transition;
    const mainConfigFile = mainFile(edge, names.configStems.get(edge), edgeFiles) ?? builtIn(edge);
    if (mainConfigFile === null) {
      const message = `No file defines the checks of ${edge}: it gets one default check of each type.`;
      topologyFile.warn(['transitions'], message);
    }
    const config =
      mainConfigFile === null ? defaultEdgeConfig(transition, defaults) : { edge, ...mainConfigFile.config };
    const supplements = edgeFiles.filter((file) => file !== mainConfigFile && isSupplement(file, transition));
    const ownChecks = [config, ...supplements.map((file) => file.config)].flatMap(
      ({ checklist }) => checklist,
    );
    const checks = [...ownChecks, ...defaults.checks];
    // The first of several checks with one name counts.
    const byName = new Map(checks.toReversed().map((check) => [check.name, check]));
    const checklist = checks
      .filter((check) => byName.get(check.name) === check)
      .map((check) => withTraceabilityCommand(check, traceabilityByName));
    edges[edge] = { ...config, checklist };
  }
  return edges;
}

function mainFile(
  edge: string,
  configStem: string | undefined,
  files: readonly ParsedEdgeFile[],
): ParsedEdgeFile | undefined {
  const candidates = files.filter(({ stem }) => !SUPPLEMENTARY_STEMS.has(stem));
  return (
    candidates.find(({ stem }) => stem === configStem) ??
    candidates.find((file) => file.edge === edge && canonicalEdge(file.stem) === edge) ??
    candidates.find((file) => file.edge === edge)
  );
}

function isSupplement({ edge, stem }: ParsedEdgeFile, transition: Transition): boolean {
  if (edge === transition.edge) return SUPPLEMENTARY_STEMS.has(stem);
  return edge === null && stem === TAGGING_STEM && TAGGED_ASSETS.has(transition.target);
}

/** The checks of the traceability file, which lists them by layer: `layer_1_req_coverage`, and so on. */
function traceabilityChecks(files: readonly ParsedEdgeFile[]): ReadonlyMap<string, CheckDefinition> {
  const extra = files.find(({ stem }) => stem === TRACEABILITY_STEM)?.config.extra ?? {};
  const layers = Object.entries(extra).filter(([name]) => name.startsWith('layer_'));
  const checks = layers.flatMap(([, layer]) => checksSchema.safeParse(layer).data ?? []);
  return new Map(checks.map((check) => [check.name, parseCheck(check)]));
}

function withTraceabilityCommand(
  check: CheckDefinition,
  traceabilityByName: ReadonlyMap<string, CheckDefinition>,
): CheckDefinition {
  if (check.source !== 'traceability' || check.command !== undefined) return check;
  const { command, pass_criterion, shell, timeout_seconds, report } =
    traceabilityByName.get(check.name) ?? {};
  if (command === undefined) return check;
  return { ...check, command, ...withoutEmptyFields({ pass_criterion, shell, timeout_seconds, report }) };
}
