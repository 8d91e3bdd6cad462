import type { SourceFileKind } from './file-kind.js';
import { isReqKey, withoutVersion } from './req-key.js';
import type { RequirementTag, TagKind, TagScan } from './tags.js';

/** 1: tags in code. 2: tests for every requirement. 3: telemetry. */
export const COVERAGE_LAYERS = [1, 2, 3] as const;
export type CoverageLayer = (typeof COVERAGE_LAYERS)[number];

const TAG_OF_LAYER: Readonly<Record<CoverageLayer, TagKind>> = {
  1: 'implements',
  2: 'validates',
  3: 'telemetry',
};

export interface TagLocation {
  readonly file: string;
  readonly line: number;
}

/** The coverage of one key, from its specification to telemetry. */
export interface KeyCoverage {
  readonly key: string;
  readonly places: Readonly<Record<TagKind, readonly TagLocation[]>>;
  readonly missing: readonly CoverageLayer[];
}

export interface Coverage {
  readonly layers: readonly CoverageLayer[];
  readonly keys: readonly KeyCoverage[];
  /** Tagged keys that no specification or feature requires. Empty if `only` limits the keys. */
  readonly orphans: readonly { readonly key: string; readonly places: readonly TagLocation[] }[];
  /** Code and test files without any tag. Empty if `only` limits the keys, or if layer 1 is not compared. */
  readonly untagged_files: readonly string[];
}

interface CoverageInput {
  readonly scan: TagScan;
  /** Keys that features deliver: required like the keys of a specification. */
  readonly delivered_keys: readonly string[];
  readonly layers: readonly CoverageLayer[];
  /** If given, only these keys. */
  readonly only?: ReadonlySet<string>;
}

/** Compares required keys with tagged ones. The coordinator derives the verdict from the counts. */
export function coverageOf({ scan, delivered_keys, layers, only }: CoverageInput): Coverage {
  const byKey = locationsByKey(scan.tags);
  const fromFeatures = delivered_keys.filter(isReqKey).map(withoutVersion);
  const fromText = [...byKey].filter(([, locations]) => locations.specified.length > 0).map(([key]) => key);
  const required = new Set([...fromText, ...fromFeatures]);
  const selected = [...required].filter((key) => only === undefined || only.has(key)).sort();
  const keys = selected.map((key): KeyCoverage => {
    const places = byKey.get(key) ?? emptyLocations();
    return { key, places, missing: layers.filter((layer) => places[TAG_OF_LAYER[layer]].length === 0) };
  });
  const coversAllKeys = only === undefined;
  const isCode = (kind: SourceFileKind) => kind === 'code' || kind === 'test';
  const untagged = scan.files.filter(({ kind, is_tagged }) => isCode(kind) && !is_tagged);
  return {
    layers,
    keys,
    orphans: coversAllKeys ? orphansOf(byKey, required) : [],
    untagged_files: coversAllKeys && layers.includes(1) ? untagged.map(({ path }) => path) : [],
  };
}

export const emptyLocations = (): Record<TagKind, TagLocation[]> => ({
  specified: [],
  designed: [],
  implements: [],
  validates: [],
  telemetry: [],
});

export function locationsByKey(tags: readonly RequirementTag[]): Map<string, Record<TagKind, TagLocation[]>> {
  const byKey = new Map<string, Record<TagKind, TagLocation[]>>();
  for (const { key, kind, file, line } of tags) {
    const locations = byKey.get(key) ?? emptyLocations();
    locations[kind].push({ file, line });
    byKey.set(key, locations);
  }
  return byKey;
}

function orphansOf(byKey: ReadonlyMap<string, KeyCoverage['places']>, required: ReadonlySet<string>) {
  return [...byKey]
    .filter(([key]) => !required.has(key))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, locations]) => ({ key, places: Object.values(locations).flat() }));
}
