import { live } from '../claims/lease.js';
import { subtaskIds } from '../plan/task.js';
import { allSteps, type Steps } from '../steps.js';
import type { WorkState } from './project-state.js';
import type { Vantage } from './vantage.js';

/** Tasks, subtasks and merges, each counted once. */
export interface Progress {
  readonly completed: number;
  readonly in_progress: number;
  readonly pending: number;
}

/** How far each track of the plan is, and the plan in all. */
export interface PlanProgress {
  readonly tracks: Readonly<Record<string, Progress>>;
  readonly total: Progress;
}

type Count = { -readonly [Part in keyof Progress]: number };
const none = (): Count => ({ completed: 0, in_progress: 0, pending: 0 });

const SUBJECTS_PER_STEP = 100;

export const planProgress = (state: WorkState, vantage: Vantage): PlanProgress =>
  allSteps(progressSteps(state, vantage));

/** The same in steps. Of work that goes on meanwhile, each subject counts as it is when it is looked at. */
export function* progressSteps(state: WorkState, vantage: Vantage): Steps<PlanProgress> {
  let seen = 0;
  const tracks = new Map<string, Count>();
  const total = none();
  for (const task of state.plan.tasks()) {
    const count = tracks.get(task.track) ?? none();
    tracks.set(task.track, count);
    for (const subject of [...subtaskIds(task), task.id]) {
      const part = partOf(state, subject, vantage);
      count[part] += 1;
      total[part] += 1;
      seen += 1;
      if (seen % SUBJECTS_PER_STEP === 0) yield;
    }
  }
  return { tracks: Object.fromEntries(tracks), total };
}

function partOf(state: WorkState, subject: string, vantage: Vantage): keyof Progress {
  const head = state.heads.get(subject);
  if (head === undefined) return 'pending';
  if (head.phase === 'COMPLETED') return 'completed';
  return live(head, vantage.now_ms, vantage.rulesOf(subject)) ? 'in_progress' : 'pending';
}
