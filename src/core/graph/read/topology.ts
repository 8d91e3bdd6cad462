import { z } from 'zod';
import { canonicalEdge } from '../edge-name.js';
import type { Topology, Transition } from '../methodology.js';
import { inOrderOfWork } from '../order-of-work.js';
import { EdgeNames, stemOf } from './edge-names.js';
import { checkTypes, flag, label, words } from './fields.js';
import type { YamlFile } from './yaml-file.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const assetName = z.string().regex(NAME, { error: 'expected letters, digits, _ . - and at most 64 of them' });

const schema = z.object({
  asset_types: z
    .record(
      z.string(),
      z
        .object({ description: words.nullish(), markov_criteria: z.array(words).max(100).nullish() })
        .nullable(),
    )
    .refine((types) => Object.keys(types).length <= 200, { error: 'expected at most 200 types' }),
  transitions: z
    .array(
      z.object({
        name: label.nullish(),
        source: assetName,
        target: assetName,
        edge_type: label.nullish(),
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
  readonly topology: Topology;
  readonly names: EdgeNames;
}

export function readTopology(file: YamlFile): TopologyReading | null {
  const said = file.fits(schema);
  if (said === null) return null;
  for (const name of Object.keys(said.asset_types)) {
    if (!NAME.test(name))
      file.fault(['asset_types', name], `${JSON.stringify(name)} is no name for a type of asset.`);
  }
  const transitions = new Map<string, Transition>();
  const stems = new Map<string, string>();
  for (const [at, entry] of said.transitions.entries()) {
    const transition = transitionOf(said, at, file);
    if (transitions.has(transition.edge)) {
      file.warn(['transitions', at], `${transition.edge} stands here a second time; the first one counts.`);
      continue;
    }
    transitions.set(transition.edge, transition);
    if (entry.edge_config) stems.set(transition.edge, stemOf(entry.edge_config));
  }
  const topology = topologyOf(said, [...transitions.values()]);
  return { topology, names: new EdgeNames(topology, stems) };
}

function transitionOf(said: Said, at: number, file: YamlFile): Transition {
  const entry = said.transitions[at] as Said['transitions'][number];
  for (const end of ['source', 'target'] as const) {
    if (Object.hasOwn(said.asset_types, entry[end])) continue;
    const known = Object.keys(said.asset_types).join(', ');
    file.fault(
      ['transitions', at, end],
      `There is no type of asset ${JSON.stringify(entry[end])}; there are ${known}.`,
    );
  }
  const type = entry.edge_type ?? 'standard';
  if (type !== 'standard' && type !== 'co_evolution') {
    file.warn(
      ['transitions', at, 'edge_type'],
      `An edge of type ${JSON.stringify(type)} is treated as standard.`,
    );
  }
  return {
    edge: canonicalEdge(`${entry.source}_${entry.target}`),
    name: entry.name ?? `${entry.source} → ${entry.target}`,
    source: entry.source,
    target: entry.target,
    edge_type: type === 'co_evolution' ? 'co_evolution' : 'standard',
    evaluators: entry.evaluators ?? [],
  };
}

function topologyOf(said: Said, transitions: readonly Transition[]): Topology {
  return {
    asset_types: Object.entries(said.asset_types).map(([name, type]) => ({
      name,
      description: type?.description?.trim() ?? '',
      markov_criteria: type?.markov_criteria ?? [],
    })),
    transitions: inOrderOfWork(transitions),
    constraint_dimensions: Object.entries(said.constraint_dimensions ?? {}).map(([name, dimension]) => ({
      name,
      mandatory: dimension?.mandatory ?? false,
    })),
  };
}
