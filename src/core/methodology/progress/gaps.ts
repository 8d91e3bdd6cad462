import type { GapCluster, GapReport, GapsBody } from '../../contract/gaps.js';
import { GAP_LAYERS, type GapLayer } from '../../contract/values.js';

export type CoverageScan = Pick<GapsBody, 'layers_run' | 'keys' | 'orphan_keys' | 'untagged_files'>;

/** Maximum number of clusters: one commit raises an intent for each. The rest are merged into one. */
const CLUSTERS_MAX = 20;
const OTHER_DOMAIN = 'OTHER';

export function findGaps(scan: CoverageScan): GapReport {
  const layers = GAP_LAYERS.filter((_, index) => scan.layers_run.includes(index + 1));
  const keys = [...new Map(scan.keys.map((each) => [each.key, each])).values()];
  const missingByKey = keys.map((each) => ({
    key: each.key,
    layers: layers.filter((layer) => each[layer] === 0),
  }));
  const uncovered = missingByKey.filter((each) => each.layers.length > 0);
  const no_coverage = uncovered.filter((each) => each.layers.length === layers.length).length;
  const countWithout = (layer: GapLayer) => uncovered.filter((each) => each.layers.includes(layer)).length;
  const hasStrays = (scan.orphan_keys ?? []).length > 0 || (scan.untagged_files ?? 0) > 0;
  const layerResult = (layer: GapLayer) =>
    countWithout(layer) > 0 || (layer === 'code' && hasStrays) ? ('fail' as const) : ('pass' as const);
  return {
    total_req_keys: keys.length,
    full_coverage: keys.length - uncovered.length,
    partial_coverage: uncovered.length - no_coverage,
    no_coverage,
    test_gaps: countWithout('tests'),
    telemetry_gaps: countWithout('telemetry'),
    layer_results: Object.fromEntries(
      layers.map((layer) => [`layer_${GAP_LAYERS.indexOf(layer) + 1}`, layerResult(layer)]),
    ),
    clusters: clustersOf(uncovered),
  };
}

export const hasNoGaps = ({ layer_results }: GapReport): boolean =>
  Object.values(layer_results).every((result) => result === 'pass');

interface UncoveredKey {
  readonly key: string;
  readonly layers: readonly GapLayer[];
}

function clustersOf(uncovered: readonly UncoveredKey[]): GapCluster[] {
  const domains = new Map<string, UncoveredKey[]>();
  for (const each of uncovered) {
    const domain = domainOf(each.key);
    const known = domains.get(domain) ?? [];
    known.push(each);
    domains.set(domain, known);
  }
  const sorted = [...domains].sort(([a], [b]) => (a < b ? -1 : 1));
  if (sorted.length > CLUSTERS_MAX) {
    const rest = sorted.splice(CLUSTERS_MAX - 1);
    sorted.push([OTHER_DOMAIN, rest.flatMap(([, keys]) => keys)]);
  }
  return sorted.map(([domain, keys]) => clusterOf(domain, keys));
}

/** Missing code or tests are more severe than missing telemetry. */
function clusterOf(domain: string, uncovered: readonly UncoveredKey[]): GapCluster {
  const layers = GAP_LAYERS.filter((layer) => uncovered.some((each) => each.layers.includes(layer)));
  const severity = layers.some((layer) => layer !== 'telemetry') ? 'high' : 'medium';
  return { domain, severity, keys: uncovered.map(({ key }) => key).sort(), layers };
}

/** Domain of a key, the word before the number: AUTH for `REQ-F-AUTH-001` and `REQ-AUTH-002`. */
function domainOf(key: string): string {
  const words = key.split('-').slice(1);
  if (/^\d+$/.test(words.at(-1) ?? '')) words.pop();
  return words.at(-1) || OTHER_DOMAIN;
}
