import { z } from 'zod';
import { canonicalEdge } from '../edge-name.js';
import type { AssetType, Topology, Transition } from '../methodology.js';
import { orderTransitions } from '../transition-order.js';
import { EdgeNameIndex, fileStem } from './edge-names.js';
import { booleanField, checkTypes, longText, shortText } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const ASSET_TYPES_MAX = 200;
const ASSET_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const assetName = z
  .string()
  .regex(ASSET_NAME, { error: 'expected letters, digits, _ . - and at most 64 of them' });

const assetTypeFields = {
  description: longText.nullish(),
  markov_criteria: z.array(longText).max(100).nullish(),
};
const schema = z.object({
  asset_types: z.union([
    z.record(z.string(), z.object(assetTypeFields).nullable()),
    z.array(z.object({ name: assetName, ...assetTypeFields })).max(ASSET_TYPES_MAX),
  ]),
  transitions: z
    .array(
      z.object({
        name: shortText.nullish(),
        source: assetName,
        target: assetName,
        edge_type: shortText.nullish(),
        bidirectional: booleanField.nullish(),
        evaluators: checkTypes.nullish(),
        edge_config: longText.nullish(),
      }),
    )
    .min(1)
    .max(500),
  constraint_dimensions: z
    .record(z.string(), z.object({ mandatory: booleanField.nullish() }).nullable())
    .nullish(),
});
type ParsedTopologyFile = z.infer<typeof schema>;

export interface ParsedTopology {
  readonly file: YamlFile;
  readonly topology: Topology;
  readonly names: EdgeNameIndex;
}

export function parseTopology(file: YamlFile): ParsedTopology | null {
  const parsed = file.parse(schema);
  if (parsed === null) return null;
  const asset_types = assetTypesOf(parsed, file);
  const known = asset_types.map(({ name }) => name);
  const transitions = new Map<string, Transition>();
  const stems = new Map<string, string>();
  for (const [at, entry] of parsed.transitions.entries()) {
    const transition = transitionOf(entry, at, known, file);
    if (transitions.has(transition.edge)) {
      file.warn(['transitions', at], `${transition.edge} stands here a second time; the first one counts.`);
      continue;
    }
    transitions.set(transition.edge, transition);
    if (entry.edge_config) stems.set(transition.edge, fileStem(entry.edge_config));
  }
  const topology = {
    asset_types,
    transitions: orderTransitions([...transitions.values()]),
    constraint_dimensions: dimensionsOf(parsed),
  };
  return { file, topology, names: new EdgeNameIndex(topology, stems) };
}

function assetTypesOf({ asset_types }: ParsedTopologyFile, file: YamlFile): AssetType[] {
  const listed = Array.isArray(asset_types)
    ? asset_types
    : Object.entries(asset_types).map(([name, type]) => ({ name, ...type }));
  for (const { name } of listed) {
    if (!ASSET_NAME.test(name))
      file.fault(['asset_types', name], `${JSON.stringify(name)} is no name for a type of asset.`);
  }
  if (listed.length > ASSET_TYPES_MAX) {
    file.fault(
      ['asset_types'],
      `There are ${listed.length} types of assets; at most ${ASSET_TYPES_MAX} are read.`,
    );
  }
  return listed.map(({ name, description, markov_criteria }) => ({
    name,
    description: description?.trim() ?? '',
    markov_criteria: markov_criteria ?? [],
  }));
}

function transitionOf(
  entry: ParsedTopologyFile['transitions'][number],
  at: number,
  known: readonly string[],
  file: YamlFile,
): Transition {
  const { source, target, evaluators } = entry;
  for (const end of ['source', 'target'] as const) {
    if (known.includes(entry[end])) continue;
    const message = `There is no type of asset ${JSON.stringify(entry[end])}; there are ${known.join(', ')}.`;
    file.fault(['transitions', at, end], message);
  }
  const edge = canonicalEdge(`${source}_${target}`);
  const name = entry.name ?? `${source} → ${target}`;
  return {
    edge,
    name,
    source,
    target,
    edge_type: edgeTypeOf(entry, edge, at, file),
    evaluators: evaluators ?? [],
  };
}

/** Some topologies have the edge's own name in `edge_type`. */
function edgeTypeOf(
  { edge_type, bidirectional }: ParsedTopologyFile['transitions'][number],
  edge: string,
  at: number,
  file: YamlFile,
): Transition['edge_type'] {
  if (edge_type === 'co_evolution' || bidirectional) return 'co_evolution';
  if (edge_type && edge_type !== 'standard' && canonicalEdge(edge_type) !== edge) {
    const message = `An edge of type ${JSON.stringify(edge_type)} is treated as standard.`;
    file.warn(['transitions', at, 'edge_type'], message);
  }
  return 'standard';
}

function dimensionsOf({ constraint_dimensions }: ParsedTopologyFile): Topology['constraint_dimensions'] {
  return Object.entries(constraint_dimensions ?? {}).map(([name, dimension]) => ({
    name,
    mandatory: dimension?.mandatory ?? false,
  }));
}
