import type { Reply } from '../../api/call.js';

type Lineage = Reply<'get_claim_history'>;
type Generation = Lineage['generations'][number];

/** The history of a task, and whether its last accepted result counts. */
export interface TaskHistory {
  readonly lineage: Lineage;
  readonly isCompleted: boolean;
}

/** A part of a row, in percent of the whole time line. */
export interface Span {
  readonly start: number;
  readonly width: number;
}
interface SubmissionMark {
  readonly id: string;
  /** In percent of the whole time line. */
  readonly at_percent: number;
  readonly isParked: boolean;
  readonly text: string;
}
export interface GenerationTimelineRow {
  readonly generation: number;
  readonly agent_id: string;
  readonly outcome: string;
  readonly tone: Tone;
  /** The time from the grant to the end of the claim; null if the generation is not in the history. */
  readonly claimSpan: Span | null;
  /** The time from the end of the claim to the last refused submission; null if there was no later submission. */
  readonly lateSpan: Span | null;
  readonly refusedSubmissions: readonly SubmissionMark[];
}
interface GenerationTimeline {
  readonly start_ms: number;
  readonly end_ms: number;
  readonly rows: readonly GenerationTimelineRow[];
}
type Tone = 'good' | 'bad' | 'warn' | 'accent' | 'plain';

/**
 * ACCEPTED, why the generation ended, or IN_PROGRESS, as in the table of specification 004 §9.2. REPLACED: its result was
 * accepted, and a later result counts now. REOPENED: its result was accepted, and no result counts after a reset.
 */
export function generationOutcomeOf(entry: Generation, { lineage, isCompleted }: TaskHistory): string {
  if (!entry.result_accepted) return entry.release_reason ?? 'IN_PROGRESS';
  if (replacementOf(entry, lineage.generations) !== null) return 'REPLACED';
  return isCompleted ? 'ACCEPTED' : 'REOPENED';
}

/** The generation whose accepted result replaced the accepted result of this one; null if none did. */
export const replacementOf = ({ generation }: Generation, all: readonly Generation[]): Generation | null =>
  all.find((other) => other.result_accepted && other.generation > generation) ?? null;

export function toneOf(outcome: string): Tone {
  if (outcome === 'ACCEPTED') return 'good';
  if (outcome === 'IN_PROGRESS') return 'accent';
  if (outcome === 'REPLACED' || outcome === 'REOPENED') return 'plain';
  return outcome === 'VOLUNTARY' ? 'warn' : 'bad';
}

/** The generations of a task on one axis of time. A held claim extends until now. Null for a task that was never claimed. */
export function generationTimelineOf(history: TaskHistory, nowMs: number): GenerationTimeline | null {
  const { generations, rejected } = history.lineage;
  const endOf = ({ released_at }: Generation): number => msOf(released_at) ?? nowMs;
  const times = [
    ...generations.flatMap((each) => [msOf(each.acquired_at), endOf(each)]),
    ...rejected.map(({ submitted_at }) => msOf(submitted_at)),
  ].filter((ms) => ms !== null);
  if (times.length === 0) return null;
  const [startMs, endMs] = [minOf(times), maxOf(times)];
  const percent = (ms: number): number => (100 * (ms - startMs)) / Math.max(1, endMs - startMs);
  const span = (fromMs: number, toMs: number): Span => ({
    start: percent(fromMs),
    width: Math.max(0, percent(toMs) - percent(fromMs)),
  });
  const numbers = [...new Set([...generations, ...rejected].map(({ generation }) => generation))];
  const rows = numbers
    .sort((a, b) => a - b)
    .map((generation): GenerationTimelineRow => {
      const entry = generations.find((each) => each.generation === generation);
      const submissions = rejected.filter((each) => each.generation === generation);
      const outcome = entry === undefined ? 'UNKNOWN' : generationOutcomeOf(entry, history);
      const lastMs = maxOf(submissions.map(({ submitted_at }) => msOf(submitted_at) ?? startMs));
      const isLate = entry?.released_at != null && lastMs > endOf(entry);
      return {
        generation,
        agent_id: entry?.agent_id ?? submissions[0]?.agent_id ?? '',
        outcome,
        tone: toneOf(outcome),
        claimSpan: entry === undefined ? null : span(msOf(entry.acquired_at) ?? startMs, endOf(entry)),
        lateSpan: isLate ? span(endOf(entry), lastMs) : null,
        refusedSubmissions: submissions.map(({ id, submitted_at, rejection_reason, parked }) => ({
          id,
          at_percent: percent(msOf(submitted_at) ?? startMs),
          isParked: parked,
          text: `${rejection_reason ?? 'refused'}${parked ? ', parked' : ''}`,
        })),
      };
    });
  return { start_ms: startMs, end_ms: endMs, rows };
}

/** Ids of the parked results that a person has adopted. */
export const adoptedIds = ({ generations }: Lineage): ReadonlySet<string> =>
  new Set(
    generations.flatMap(({ adopted_from: from }) => (from && 'result_id' in from ? [from.result_id] : [])),
  );

const msOf = (time: string | null): number | null => {
  const ms = time === null ? Number.NaN : Date.parse(time);
  return Number.isNaN(ms) ? null : ms;
};
// `reduce` instead of spread arguments: a history can exceed the maximum number of arguments of a call.
const minOf = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Infinity);
const maxOf = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), -Infinity);
