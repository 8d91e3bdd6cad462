import { z } from 'zod';
import { canonicalEdge } from '../edge-name.js';
import type { Topology, Transition } from '../methodology.js';
import { EdgeNameIndex, fileStem } from './edge-names.js';
import { description, evaluatorNames, knownCheckTypes, longText, orElse, shortText } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const ASSET_TYPES_MAX = 200;
const ASSET_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const assetName = z.string().regex(ASSET_NAME, {
  error: 'expected at most 64 letters, digits and _ . -, starting with a letter or a digit',
});

const assetType = z.object({ description, markov_criteria: orElse(z.array(longText).max(100), []) });
const transitionSchema = z.object({
  name: shortText.nullish(),
  source: assetName,
  target: assetName,
  edge_type: shortText.nullish(),
  bidirectional: z.boolean().nullish(),
  evaluators: orElse(evaluatorNames, []),
  edge_config: longText.nullish(),
});
const dimension = z.object({ mandatory: z.boolean().nullish() }).nullable();
const schema = z.object({
  asset_types: z.union([
    z.record(z.string(), assetType.nullable()),
    z.array(assetType.extend({ name: assetName })).max(ASSET_TYPES_MAX),
  ]),
  transitions: z.array(transitionSchema).min(1).max(500),
  constraint_dimensions: orElse(z.record(z.string(), dimension), {}),
});
type ParsedTopologyFile = z.infer<typeof schema>;
type ParsedTransition = z.infer<typeof transitionSchema>;

export interface ParsedTopology {
  readonly file: YamlFile;
  readonly topology: Topology;
  readonly names: EdgeNameIndex;
}

export function parseTopology(file: YamlFile): ParsedTopology | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const asset_types = assetTypesOf(parsed, file);
  const assetNames = asset_types.map(({ name }) => name);
  const transitions = new Map<string, Transition>();
  const stems = new Map<string, string>();
  for (const [index, entry] of parsed.transitions.entries()) {
    const transition = transitionOf(entry, index, assetNames, file);
    if (transitions.has(transition.edge)) {
      file.warn(['transitions', index], `Duplicate edge ${transition.edge}; the first one is used.`);
      continue;
    }
    transitions.set(transition.edge, transition);
    if (entry.edge_config) stems.set(transition.edge, fileStem(entry.edge_config));
  }
  const topology = {
    asset_types,
    transitions: orderTransitions(transitions.values()),
    constraint_dimensions: Object.entries(parsed.constraint_dimensions).map(([name, dimension]) => ({
      name,
      mandatory: dimension?.mandatory ?? false,
    })),
  };
  return { file, topology, names: new EdgeNameIndex(topology, stems) };
}

function assetTypesOf({ asset_types }: ParsedTopologyFile, file: YamlFile): Topology['asset_types'] {
  const assetTypes = Array.isArray(asset_types)
    ? asset_types
    : Object.entries(asset_types).map(([name, type]) => ({ ...(type ?? assetType.parse({})), name }));
  for (const { name } of assetTypes) {
    if (!ASSET_NAME.test(name))
      file.fault(
        ['asset_types', name],
        `${JSON.stringify(name)} is not a valid name of an asset type: use letters, digits, _ . or -.`,
      );
  }
  if (assetTypes.length > ASSET_TYPES_MAX) {
    const message = `There are ${assetTypes.length} asset types; at most ${ASSET_TYPES_MAX} are allowed. Remove some.`;
    file.fault(['asset_types'], message);
  }
  return assetTypes;
}

function transitionOf(
  entry: ParsedTransition,
  index: number,
  assetNames: readonly string[],
  file: YamlFile,
): Transition {
  const { source, target } = entry;
  for (const end of ['source', 'target'] as const) {
    if (assetNames.includes(entry[end])) continue;
    const message = `Unknown asset type ${JSON.stringify(entry[end])}; known types: ${assetNames.join(', ')}.`;
    file.fault(['transitions', index, end], message);
  }
  const edge = canonicalEdge(`${source}_${target}`);
  const name = entry.name ?? `${source} → ${target}`;
  const evaluators = knownCheckTypes(entry.evaluators, file, ['transitions', index, 'evaluators']);
  return { edge, name, source, target, edge_type: edgeTypeOf(entry, edge, index, file), evaluators };
}

/**
 * The type of an edge: co-evolution if `edge_type` or `bidirectional` says so, otherwise standard. An unknown type gets a
 * warning, unless it is the edge's own name: some topologies repeat the name in `edge_type`.
 */
function edgeTypeOf(
  { edge_type, bidirectional }: ParsedTransition,
  edge: string,
  index: number,
  file: YamlFile,
): Transition['edge_type'] {
  if (edge_type === 'co_evolution' || bidirectional) return 'co_evolution';
  if (edge_type && edge_type !== 'standard' && canonicalEdge(edge_type) !== edge) {
    const message = `Unknown edge type ${JSON.stringify(edge_type)}; the edge is treated as standard.`;
    file.warn(['transitions', index, 'edge_type'], message);
  }
  return 'standard';
}

/** Keeps the file order, but moves transitions that close a cycle to the end. */
export function orderTransitions(transitions: Iterable<Transition>): Transition[] {
  const forward: Transition[] = [];
  const feedback: Transition[] = [];
  for (const transition of transitions) {
    const closesCycle = isReachable(forward, transition.target, transition.source);
    (closesCycle ? feedback : forward).push(transition);
  }
  return [...forward, ...feedback];
}

function isReachable(transitions: readonly Transition[], from: string, to: string): boolean {
  const reached = new Set([from]);
  for (const asset of reached) {
    for (const { source, target } of transitions) if (source === asset) reached.add(target);
  }
  return reached.has(to);
}
