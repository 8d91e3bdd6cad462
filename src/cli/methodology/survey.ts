import type { GapsBody } from '../../coordinator/methodology/wire.js';
import { type Coverage, coverageOf, type Layer } from '../../workspace/scan/coverage.js';
import { scanTags } from '../../workspace/scan/tags.js';
import { expected } from '../replies.js';
import type { Reading } from './calls.js';

export interface Survey {
  readonly coverage: Coverage;
  /** What was not looked at, and why. */
  readonly left_out: readonly string[];
  /** The same in figures, as the coordinator takes it. */
  readonly found: GapsBody;
}

/** Looks through the project's files for what its requirements ask. */
export async function surveyOf(
  root: string,
  calls: Reading,
  layers: readonly Layer[],
  feature?: string,
): Promise<Survey> {
  const scan = await scanTags(root);
  const feature_keys = await keysOf(calls, feature);
  const only = feature === undefined ? {} : { only: new Set(feature_keys) };
  const coverage = coverageOf({ scan, feature_keys, layers, ...only });
  const found: GapsBody = {
    layers_run: [...layers],
    ...(feature === undefined ? {} : { feature }),
    keys: coverage.keys.map(({ key, places }) => ({
      key,
      code: places.implements.length,
      tests: places.validates.length,
      telemetry: places.telemetry.length,
    })),
    orphan_keys: coverage.orphans.map(({ key }) => key),
    untagged_files: coverage.untagged_files.length,
  };
  return { coverage, left_out: scan.left_out, found };
}

/** What the features deliver: their own keys, and those they name. */
async function keysOf(calls: Reading, feature: string | undefined): Promise<string[]> {
  if (feature !== undefined) return [...expected(await calls.feature(feature)).requirements, feature];
  const { features } = expected(await calls.status());
  // A side question is no requirement: it asks, and demands nothing.
  const demanding = features.filter(({ vector_type }) => vector_type === 'feature');
  return demanding.flatMap(({ feature_id, requirements }) => [feature_id, ...requirements]);
}
