import type { GapsBody } from '../../coordinator/methodology/wire.js';
import { type Coverage, type CoverageLayer, coverageOf } from '../../workspace/scan/coverage.js';
import { scanTags } from '../../workspace/scan/tags.js';
import { unwrapReply } from '../replies.js';
import type { ReadOnlyCalls } from './calls.js';

export interface RequirementScan {
  readonly coverage: Coverage;
  /** The files that were skipped, and why. */
  readonly left_out: readonly string[];
  /** The coverage as counts, in the coordinator's request format. */
  readonly gapsRequest: GapsBody;
}

/** Scans the project's files for tags of its requirements. */
export async function scanRequirements(
  root: string,
  calls: ReadOnlyCalls,
  layers: readonly CoverageLayer[],
  feature?: string,
): Promise<RequirementScan> {
  const scan = await scanTags(root);
  const feature_keys = await requirementKeys(calls, feature);
  const only = feature === undefined ? {} : { only: new Set(feature_keys) };
  const coverage = coverageOf({ scan, feature_keys, layers, ...only });
  const gapsRequest: GapsBody = {
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
  return { coverage, left_out: scan.left_out, gapsRequest };
}

/** The features' own keys and the requirements they name. */
async function requirementKeys(calls: ReadOnlyCalls, feature: string | undefined): Promise<string[]> {
  if (feature !== undefined) return [...unwrapReply(await calls.feature(feature)).requirements, feature];
  const { features } = unwrapReply(await calls.status());
  // Only features deliver requirements; spikes and other child vectors do not.
  const requirementFeatures = features.filter(({ vector_type }) => vector_type === 'feature');
  return requirementFeatures.flatMap(({ feature_id, requirements }) => [feature_id, ...requirements]);
}
