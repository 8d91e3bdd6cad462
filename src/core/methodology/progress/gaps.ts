/** Number of occurrences of a requirement key: layer 1 in code, layer 2 in tests, layer 3 in telemetry. */
export interface KeyCounts {
  readonly key: string;
  readonly code: number;
  readonly tests: number;
  readonly telemetry: number;
}

export const GAP_LAYERS = ['code', 'tests', 'telemetry'] as const;
export type GapLayer = (typeof GAP_LAYERS)[number];

/** Requirement keys of one domain that lack coverage. */
export interface GapCluster {
  readonly domain: string;
  readonly severity: 'high' | 'medium';
  readonly keys: readonly string[];
  readonly layers: readonly GapLayer[];
}

export interface GapReport {
  readonly total_req_keys: number;
  readonly full_coverage: number;
  readonly partial_coverage: number;
  readonly no_coverage: number;
  readonly test_gaps: number;
  readonly telemetry_gaps: number;
  readonly layer_results: Readonly<Record<string, 'pass' | 'fail'>>;
  readonly clusters: readonly GapCluster[];
}

export interface CoverageScan {
  readonly layers_run: readonly number[];
  readonly keys: readonly KeyCounts[];
  readonly orphan_keys: readonly string[];
  readonly untagged_files: number;
}

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
  const hasStrays = scan.orphan_keys.length > 0 || scan.untagged_files > 0;
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
    const known = domains.get(domain);
    if (known === undefined) domains.set(domain, [each]);
    else known.push(each);
  }
  const sorted = [...domains].sort(([a], [b]) => (a < b ? -1 : 1));
  if (sorted.length <= CLUSTERS_MAX) return sorted.map(([domain, keys]) => clusterOf(domain, keys));
  const named = sorted.slice(0, CLUSTERS_MAX - 1);
  const rest = sorted.slice(CLUSTERS_MAX - 1).flatMap(([, keys]) => keys);
  return [...named.map(([domain, keys]) => clusterOf(domain, keys)), clusterOf(OTHER_DOMAIN, rest)];
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
