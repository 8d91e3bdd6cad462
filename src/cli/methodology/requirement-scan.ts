import type { GapsBody } from '../../core/contract/gaps.js';
import { type CoverageLayer, coverageOf } from '../../workspace/scan/coverage.js';
import { scanTags } from '../../workspace/scan/tags.js';
import { unwrapReply } from '../replies.js';
import type { ReadOnlyCalls } from './opened-project.js';

/**
 * Scans the project's files for tags of its requirements. Also returns the files that were skipped, with the reason,
 * and the coverage as counts, in the coordinator's request format.
 */
export async function scanRequirements(
  root: string,
  calls: Pick<ReadOnlyCalls, 'feature' | 'status'>,
  layers: readonly CoverageLayer[],
  feature?: string,
) {
  const scan = await scanTags(root);
  const delivered_keys = await requirementKeys(calls, feature);
  const only = feature === undefined ? {} : { only: new Set(delivered_keys) };
  const coverage = coverageOf({ scan, delivered_keys, layers, ...only });
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

/** The ids of features, which are keys too, and the requirements that they name: of one feature, or of the whole project. */
async function requirementKeys(
  calls: Pick<ReadOnlyCalls, 'feature' | 'status'>,
  feature: string | undefined,
): Promise<string[]> {
  if (feature !== undefined) return [...unwrapReply(await calls.feature(feature)).requirements, feature];
  const { features } = unwrapReply(await calls.status());
  // Only features of the type `feature` deliver requirements. Spikes and the other types do not.
  const requirementFeatures = features.filter(({ vector_type }) => vector_type === 'feature');
  return requirementFeatures.flatMap(({ feature_id, requirements }) => [feature_id, ...requirements]);
}
