import type { Rng } from '../world/rng.js';
import type { HistoryRequest, RecordedOutcome } from './history.js';

const TASKS_PER_TRACK = 999;
const FIRST_TRACK = 'A'.charCodeAt(0);

const COMPLETED_REASONS: ReadonlySet<string> = new Set(['DENIED_COMPLETED', 'TASK_ALREADY_COMPLETED']);

/** The tasks of a run, and the few of them that all clients contend for at a time. */
export class TaskPool {
  private readonly openTasks: string[];

  constructor(
    tasks: number,
    /** How many tasks are contended for at once. */
    private readonly contendedCount: number,
  ) {
    this.openTasks = Array.from({ length: tasks }, (_, index) => taskId(index));
  }

  /** A plan of tasks without dependencies. */
  plan(): object {
    const tracks: Record<string, object[]> = {};
    for (const id of this.openTasks) {
      const [track = ''] = id.split('-');
      tracks[track] ??= [];
      tracks[track].push({ id, description: 'work', depends_on: [] });
    }
    return { tracks };
  }

  pick(rng: Rng): string {
    return this.openTasks[rng.int(Math.min(this.contendedCount, this.openTasks.length))] as string;
  }

  /** Replaces a completed task with another one, while other tasks are left. */
  recordOutcome({ operation, subject }: HistoryRequest, outcome: RecordedOutcome): void {
    const isDone =
      (operation === 'submit' && outcome.kind === 'ok') ||
      (outcome.kind === 'refused' && COMPLETED_REASONS.has(outcome.reason));
    const index =
      isDone && this.openTasks.length > this.contendedCount ? this.openTasks.indexOf(subject) : -1;
    if (index >= 0) this.openTasks.splice(index, 1);
  }
}

function taskId(index: number): string {
  const track = String.fromCharCode(FIRST_TRACK + Math.floor(index / TASKS_PER_TRACK));
  return `${track}-${String(1 + (index % TASKS_PER_TRACK)).padStart(3, '0')}-work`;
}
