import { z } from 'zod';
import { canonicalEdge } from '../edge-name.js';
import type { AssetType, Topology, Transition } from '../methodology.js';
import { inOrderOfWork } from '../order-of-work.js';
import { EdgeNames, stemOf } from './edge-names.js';
import { checkTypes, flag, label, words } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const ASSET_TYPES_MAX = 200;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const assetName = z.string().regex(NAME, { error: 'expected letters, digits, _ . - and at most 64 of them' });

const about = { description: words.nullish(), markov_criteria: z.array(words).max(100).nullish() };
const schema = z.object({
  asset_types: z.union([
    z.record(z.string(), z.object(about).nullable()),
    z.array(z.object({ name: assetName, ...about })).max(ASSET_TYPES_MAX),
  ]),
  transitions: z
    .array(
      z.object({
        name: label.nullish(),
        source: assetName,
        target: assetName,
        edge_type: label.nullish(),
        bidirectional: flag.nullish(),
        evaluators: checkTypes.nullish(),
        edge_config: words.nullish(),
      }),
    )
    .min(1)
    .max(500),
  constraint_dimensions: z.record(z.string(), z.object({ mandatory: flag.nullish() }).nullable()).nullish(),
});
type Said = z.infer<typeof schema>;

export interface TopologyReading {
  readonly file: YamlFile;
  readonly topology: Topology;
  readonly names: EdgeNames;
}

export function readTopology(file: YamlFile): TopologyReading | null {
  const said = file.fits(schema);
  if (said === null) return null;
  const asset_types = assetTypesOf(said, file);
  const known = asset_types.map(({ name }) => name);
  const transitions = new Map<string, Transition>();
  const stems = new Map<string, string>();
  for (const [at, entry] of said.transitions.entries()) {
    const transition = transitionOf(entry, at, known, file);
    if (transitions.has(transition.edge)) {
      file.warn(['transitions', at], `${transition.edge} stands here a second time; the first one counts.`);
      continue;
    }
    transitions.set(transition.edge, transition);
    if (entry.edge_config) stems.set(transition.edge, stemOf(entry.edge_config));
  }
  const topology = {
    asset_types,
    transitions: inOrderOfWork([...transitions.values()]),
    constraint_dimensions: dimensionsOf(said),
  };
  return { file, topology, names: new EdgeNames(topology, stems) };
}

function assetTypesOf({ asset_types }: Said, file: YamlFile): AssetType[] {
  const listed = Array.isArray(asset_types)
    ? asset_types
    : Object.entries(asset_types).map(([name, type]) => ({ name, ...type }));
  for (const { name } of listed) {
    if (!NAME.test(name))
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
  entry: Said['transitions'][number],
  at: number,
  known: readonly string[],
  file: YamlFile,
): Transition {
  const { source, target, evaluators } = entry;
  for (const end of ['source', 'target'] as const) {
    if (known.includes(entry[end])) continue;
    const said = `There is no type of asset ${JSON.stringify(entry[end])}; there are ${known.join(', ')}.`;
    file.fault(['transitions', at, end], said);
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

/** Some topologies write the edge's own name where its type belongs. */
function edgeTypeOf(
  { edge_type, bidirectional }: Said['transitions'][number],
  edge: string,
  at: number,
  file: YamlFile,
): Transition['edge_type'] {
  if (edge_type === 'co_evolution' || bidirectional) return 'co_evolution';
  if (edge_type && edge_type !== 'standard' && canonicalEdge(edge_type) !== edge) {
    const said = `An edge of type ${JSON.stringify(edge_type)} is treated as standard.`;
    file.warn(['transitions', at, 'edge_type'], said);
  }
  return 'standard';
}

function dimensionsOf({ constraint_dimensions }: Said): Topology['constraint_dimensions'] {
  return Object.entries(constraint_dimensions ?? {}).map(([name, dimension]) => ({
    name,
    mandatory: dimension?.mandatory ?? false,
  }));
}
