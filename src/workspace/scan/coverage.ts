import { isReqKey, withoutVersion } from './req-key.js';
import type { Tag, TagKind, TagScan } from './tags.js';

/** Tags in code, tests for every demand, what is measured where it runs. */
export const LAYERS = [1, 2, 3] as const;
export type Layer = (typeof LAYERS)[number];

const TAG_OF_LAYER: Readonly<Record<Layer, TagKind>> = { 1: 'implements', 2: 'validates', 3: 'telemetry' };

export interface Place {
  readonly file: string;
  readonly line: number;
}

/** Where one key stands, from the demand to what is measured. */
export interface KeyCoverage {
  readonly key: string;
  readonly places: Readonly<Record<TagKind, readonly Place[]>>;
  readonly missing: readonly Layer[];
}

export interface Coverage {
  readonly layers: readonly Layer[];
  readonly keys: readonly KeyCoverage[];
  /** Keys that are tagged and that nothing demands. */
  readonly orphans: readonly { readonly key: string; readonly places: readonly Place[] }[];
  /** Programs that say of no line what it is for. */
  readonly untagged_files: readonly string[];
}

export interface CoverageQuestion {
  readonly scan: TagScan;
  /** Keys that features deliver: demanded as much as those of a specification. */
  readonly feature_keys: readonly string[];
  readonly layers: readonly Layer[];
  /** Given: of these keys alone. */
  readonly only?: ReadonlySet<string>;
}

/** Holds what is demanded against what is tagged. What the figures amount to is for the coordinator to say. */
export function coverageOf({ scan, feature_keys, layers, only }: CoverageQuestion): Coverage {
  const by_key = placesByKey(scan.tags);
  const from_features = feature_keys.filter(isReqKey).map(withoutVersion);
  const from_text = [...by_key].filter(([, places]) => places.specified.length > 0).map(([key]) => key);
  const demanded = new Set([...from_text, ...from_features]);
  const asked = [...demanded].filter((key) => only === undefined || only.has(key)).sort();
  const keys = asked.map((key) => keyCoverage(key, by_key.get(key) ?? nowhere(), layers));
  const whole = only === undefined;
  return {
    layers,
    keys,
    orphans: whole ? orphansOf(by_key, demanded) : [],
    untagged_files: whole && layers.includes(1) ? untaggedOf(scan) : [],
  };
}

export const nowhere = (): Record<TagKind, Place[]> => ({
  specified: [],
  designed: [],
  implements: [],
  validates: [],
  telemetry: [],
});

export function placesByKey(tags: readonly Tag[]): Map<string, Record<TagKind, Place[]>> {
  const by_key = new Map<string, Record<TagKind, Place[]>>();
  for (const { key, kind, file, line } of tags) {
    const places = by_key.get(key) ?? nowhere();
    places[kind].push({ file, line });
    by_key.set(key, places);
  }
  return by_key;
}

const keyCoverage = (key: string, places: KeyCoverage['places'], layers: readonly Layer[]): KeyCoverage => ({
  key,
  places,
  missing: layers.filter((layer) => places[TAG_OF_LAYER[layer]].length === 0),
});

function orphansOf(by_key: ReadonlyMap<string, KeyCoverage['places']>, demanded: ReadonlySet<string>) {
  return [...by_key]
    .filter(([key]) => !demanded.has(key))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, places]) => ({ key, places: Object.values(places).flat() }));
}

const untaggedOf = ({ files }: TagScan): string[] =>
  files
    .filter(({ kind, is_tagged }) => (kind === 'code' || kind === 'test') && !is_tagged)
    .map(({ path }) => path);
