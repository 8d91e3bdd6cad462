import type { MethodologyStatus } from '../../../../src/core/contract/methodology-views.js';
import { firstStart, type TimeBar, timeBars } from './trajectory.js';

type Feature = MethodologyStatus['features'][number];
type Stage = Feature['you_are_here'][number];
export type ProjectBar = TimeBar<Stage & { readonly feature_id: string }>;

interface ProjectTime {
  /** Null if no edge was started. */
  readonly from: string | null;
  /** Features that were started, the earliest first. */
  readonly rows: readonly { readonly feature: Feature; readonly bars: readonly ProjectBar[] }[];
}

/** The work on all features on one scale. */
export function projectTime(features: readonly Feature[], nowMs: number): ProjectTime {
  const entries = features.flatMap(({ feature_id, you_are_here }) =>
    you_are_here.map((stage) => ({ ...stage, feature_id })),
  );
  const bars = timeBars(entries, nowMs);
  const rows = features.flatMap((feature) => {
    const barsOfFeature = bars.filter(({ entry }) => entry.feature_id === feature.feature_id);
    return barsOfFeature.length === 0 ? [] : [{ feature, bars: barsOfFeature }];
  });
  const rowStart = (row: (typeof rows)[number]): number => Math.min(...row.bars.map(({ left }) => left));
  return { from: firstStart(entries), rows: rows.sort((one, other) => rowStart(one) - rowStart(other)) };
}
