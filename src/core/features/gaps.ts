/** How often a requirement key is found: by layer 1 in code, by layer 2 in tests, by layer 3 in telemetry. */
export interface CoveredKey {
  readonly key: string;
  readonly code: number;
  readonly tests: number;
  readonly telemetry: number;
}

export const GAP_LAYERS = ['code', 'tests', 'telemetry'] as const;
export type GapLayer = (typeof GAP_LAYERS)[number];

/** Keys of one domain that something is missing for. */
export interface GapCluster {
  readonly domain: string;
  readonly severity: 'high' | 'medium';
  readonly keys: readonly string[];
  readonly layers: readonly GapLayer[];
}

export interface Gaps {
  readonly total_req_keys: number;
  readonly full_coverage: number;
  readonly partial_coverage: number;
  readonly no_coverage: number;
  readonly test_gaps: number;
  readonly telemetry_gaps: number;
  readonly layer_results: Readonly<Record<string, 'pass' | 'fail'>>;
  readonly clusters: readonly GapCluster[];
}

export interface Scan {
  readonly layers_run: readonly number[];
  readonly keys: readonly CoveredKey[];
  readonly orphan_keys: readonly string[];
  readonly untagged_files: number;
}

/** One intent is raised for each, in one commit: what goes beyond is gathered under one name. */
const CLUSTERS_MAX = 20;
const REST = 'OTHER';

export function findGaps(scan: Scan): Gaps {
  const layers = GAP_LAYERS.filter((_, index) => scan.layers_run.includes(index + 1));
  const keys = [...new Map(scan.keys.map((each) => [each.key, each])).values()];
  const missing = keys.map((each) => ({
    key: each.key,
    layers: layers.filter((layer) => each[layer] === 0),
  }));
  const lacking = missing.filter((each) => each.layers.length > 0);
  const no_coverage = lacking.filter((each) => each.layers.length === layers.length).length;
  const without = (layer: GapLayer) => lacking.filter((each) => each.layers.includes(layer)).length;
  const isStray = scan.orphan_keys.length > 0 || scan.untagged_files > 0;
  const verdict = (layer: GapLayer) =>
    without(layer) > 0 || (layer === 'code' && isStray) ? ('fail' as const) : ('pass' as const);
  return {
    total_req_keys: keys.length,
    full_coverage: keys.length - lacking.length,
    partial_coverage: lacking.length - no_coverage,
    no_coverage,
    test_gaps: without('tests'),
    telemetry_gaps: without('telemetry'),
    layer_results: Object.fromEntries(
      layers.map((layer) => [`layer_${GAP_LAYERS.indexOf(layer) + 1}`, verdict(layer)]),
    ),
    clusters: clustersOf(lacking),
  };
}

export const isComplete = ({ layer_results }: Gaps): boolean =>
  Object.values(layer_results).every((result) => result === 'pass');

interface Lacking {
  readonly key: string;
  readonly layers: readonly GapLayer[];
}

function clustersOf(lacking: readonly Lacking[]): GapCluster[] {
  const domains = new Map<string, Lacking[]>();
  for (const each of lacking) {
    const domain = domainOf(each.key);
    const known = domains.get(domain);
    if (known === undefined) domains.set(domain, [each]);
    else known.push(each);
  }
  const sorted = [...domains].sort(([a], [b]) => (a < b ? -1 : 1));
  if (sorted.length <= CLUSTERS_MAX) return sorted.map(([domain, keys]) => cluster(domain, keys));
  const named = sorted.slice(0, CLUSTERS_MAX - 1);
  const rest = sorted.slice(CLUSTERS_MAX - 1).flatMap(([, keys]) => keys);
  return [...named.map(([domain, keys]) => cluster(domain, keys)), cluster(REST, rest)];
}

/** What nothing builds or tests is worse than what nothing watches. */
function cluster(domain: string, lacking: readonly Lacking[]): GapCluster {
  const layers = GAP_LAYERS.filter((layer) => lacking.some((each) => each.layers.includes(layer)));
  const severity = layers.some((layer) => layer !== 'telemetry') ? 'high' : 'medium';
  return { domain, severity, keys: lacking.map(({ key }) => key).sort(), layers };
}

/** `REQ-F-AUTH-001` and `REQ-AUTH-002` are both of AUTH: the word before the number. */
function domainOf(key: string): string {
  const words = key.split('-').slice(1);
  if (/^\d+$/.test(words.at(-1) ?? '')) words.pop();
  return words.at(-1) || REST;
}
