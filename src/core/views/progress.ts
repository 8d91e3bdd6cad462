import { isLive } from '../claims/lease.js';
import type { ProjectStatus } from '../contract/overview.js';
import type { ProgressCounts } from '../contract/sessions.js';
import { subtaskIds } from '../plan/task.js';
import type { SliceableWork } from '../sliceable-work.js';
import type { FoldContext } from './fold-context.js';
import type { WorkState } from './project-state.js';

type MutableProgressCounts = { -readonly [Part in keyof ProgressCounts]: number };
const zeroCounts = (): MutableProgressCounts => ({ completed: 0, in_progress: 0, pending: 0 });

const SUBJECTS_BETWEEN_PAUSES = 100;

/**
 * Progress of each track and of the whole plan. If claims change during a pause, each subject is counted in the state that
 * it has when it is visited.
 */
export function* progressInSlices(
  state: WorkState,
  context: FoldContext,
): SliceableWork<Pick<ProjectStatus, 'tracks' | 'total'>> {
  let visited = 0;
  const tracks = new Map<string, MutableProgressCounts>();
  const total = zeroCounts();
  for (const task of state.plan.tasks()) {
    const trackCounts = tracks.get(task.track) ?? zeroCounts();
    tracks.set(task.track, trackCounts);
    for (const subject of [...subtaskIds(task), task.id]) {
      const bucket = progressBucketOf(state, subject, context);
      trackCounts[bucket] += 1;
      total[bucket] += 1;
      visited += 1;
      if (visited % SUBJECTS_BETWEEN_PAUSES === 0) yield;
    }
  }
  return { tracks: Object.fromEntries(tracks), total };
}

/** Adds the progress of a project to the sums of each track. Tracks of the same name in several projects are added up. */
export function addTrackProgress(
  sums: Map<string, ProgressCounts>,
  tracks: Readonly<Record<string, ProgressCounts>>,
): void {
  for (const [track, { completed, in_progress, pending }] of Object.entries(tracks)) {
    const sum = sums.get(track) ?? zeroCounts();
    sums.set(track, {
      completed: sum.completed + completed,
      in_progress: sum.in_progress + in_progress,
      pending: sum.pending + pending,
    });
  }
}

function progressBucketOf(state: WorkState, subject: string, context: FoldContext): keyof ProgressCounts {
  if (state.heads.isCompleted(subject)) return 'completed';
  const head = state.heads.get(subject);
  if (head === undefined) return 'pending';
  return isLive(head, context.now_ms, context.rulesOf(subject)) ? 'in_progress' : 'pending';
}
