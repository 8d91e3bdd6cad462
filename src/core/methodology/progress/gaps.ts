import type { GapCluster, GapReport, GapsBody } from '../../contract/gaps.js';
import { GAP_LAYERS, type GapLayer } from '../../contract/values.js';

export type CoverageScan = Pick<GapsBody, 'layers_run' | 'keys' | 'orphan_keys' | 'untagged_files'>;

/** Maximum number of clusters, because one commit raises an intent for each cluster. Further domains share the last one. */
const CLUSTERS_MAX = 20;
const OTHER_DOMAIN = 'OTHER';

export function findGaps(scan: CoverageScan): GapReport {
  const layers = GAP_LAYERS.filter((_, index) => scan.layers_run.includes(index + 1));
  const keys = [...new Map(scan.keys.map((coverage) => [coverage.key, coverage])).values()];
  const missingByKey = keys.map((coverage) => ({
    key: coverage.key,
    layers: layers.filter((layer) => coverage[layer] === 0),
  }));
  const uncovered = missingByKey.filter((uncoveredKey) => uncoveredKey.layers.length > 0);
  const no_coverage = uncovered.filter((uncoveredKey) => uncoveredKey.layers.length === layers.length).length;
  const countWithout = (layer: GapLayer) =>
    uncovered.filter((uncoveredKey) => uncoveredKey.layers.includes(layer)).length;
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
  for (const uncoveredKey of uncovered) {
    const domain = domainOf(uncoveredKey.key);
    const domainKeys = domains.get(domain) ?? [];
    domainKeys.push(uncoveredKey);
    domains.set(domain, domainKeys);
  }
  const sorted = [...domains].sort(([a], [b]) => (a < b ? -1 : 1));
  if (sorted.length > CLUSTERS_MAX) {
    const mergedDomains = sorted.splice(CLUSTERS_MAX - 1);
    sorted.push([OTHER_DOMAIN, mergedDomains.flatMap(([, keys]) => keys)]);
  }
  return sorted.map(([domain, keys]) => clusterOf(domain, keys));
}

/** The cluster of a domain. Missing code or tests make it more severe than missing telemetry. */
function clusterOf(domain: string, uncovered: readonly UncoveredKey[]): GapCluster {
  const layers = GAP_LAYERS.filter((layer) =>
    uncovered.some((uncoveredKey) => uncoveredKey.layers.includes(layer)),
  );
  const severity = layers.some((layer) => layer !== 'telemetry') ? 'high' : 'medium';
  return { domain, severity, keys: uncovered.map(({ key }) => key).sort(), layers };
}

/** Domain of a key, the word before the number: AUTH for `REQ-F-AUTH-001` and `REQ-AUTH-002`. */
function domainOf(key: string): string {
  const words = key.split('-').slice(1);
  if (/^\d+$/.test(words.at(-1) ?? '')) words.pop();
  return words.at(-1) || OTHER_DOMAIN;
}
