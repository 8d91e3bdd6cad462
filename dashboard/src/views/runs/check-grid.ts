import type { RunDetails } from '../../../../src/core/contract/runs.js';
import { iterationsOf, stepParts } from './run-model.js';

type Step = RunDetails['steps'][number];

export interface CheckGridCell {
  readonly word: string;
  readonly tone: string;
  /** What the check reported. */
  readonly message: string;
}

interface CheckGrid {
  readonly iterations: readonly number[];
  /** A cell per iteration; null: the check was not run in it. */
  readonly rows: readonly {
    readonly step: string;
    readonly check: string;
    readonly kind: 'program' | 'model' | 'person';
    readonly cells: readonly (CheckGridCell | null)[];
  }[];
  /** How many required checks were left to pass after each iteration; null: not known. */
  readonly deltas: readonly (number | null)[];
}

const KINDS = { run_check: 'program', judge_check: 'model', request_review: 'person' } as const;
const KIND_ORDER = Object.values(KINDS);

const TONES: Readonly<Record<string, string>> = {
  pass: 'mark-good',
  fail: 'mark-bad',
  error: 'mark-bad',
  skip: '',
  pending: 'mark-warn',
  APPROVED: 'mark-good',
  REJECTED: 'mark-bad',
  CHANGES_REQUESTED: 'mark-bad',
  NO_ANSWER: 'mark-warn',
};

/** A row per check, a column per iteration. Checks of the machine that were not run yet have empty rows. */
export function checkGrid(run: Pick<RunDetails, 'steps'>, plannedSteps: readonly string[] = []): CheckGrid {
  const iterations = iterationsOf(run);
  const columnOf = new Map(iterations.map((iteration, column) => [iteration, column]));
  const rows = new Map<
    string,
    { step: string; check: string; kind: (typeof KIND_ORDER)[number]; cells: (CheckGridCell | null)[] }
  >();
  const deltas: (number | null)[] = iterations.map(() => null);
  const rowOf = (name: string) => {
    const { handler, check } = stepParts(name);
    if (!isCheck(handler)) return undefined;
    const row = rows.get(name) ?? {
      step: name,
      check: check === '' ? 'review' : check,
      kind: KINDS[handler],
      cells: iterations.map(() => null),
    };
    rows.set(name, row);
    return row;
  };
  for (const name of plannedSteps) rowOf(name);
  for (const step of run.steps) {
    const column = columnOf.get(step.iteration) as number;
    if (step.step === 'judge_iteration') deltas[column] = deltaOf(step);
    const row = rowOf(step.step);
    if (row !== undefined) row.cells[column] = cellOf(step);
  }
  const sorted = [...rows.values()].sort((a, b) => KIND_ORDER.indexOf(a.kind) - KIND_ORDER.indexOf(b.kind));
  return { iterations, rows: sorted, deltas };
}

const isCheck = (handler: string): handler is keyof typeof KINDS => Object.hasOwn(KINDS, handler);

const deltaOf = ({ output }: Step): number | null =>
  typeof output?.delta === 'number' ? output.delta : null;

/** The cell of a step. Its output comes from an executor, so the parts may have any form. */
function cellOf(step: Step): CheckGridCell {
  if (step.status === 'FAILED')
    return { word: 'step failed', tone: 'mark-bad', message: step.cause ?? step.error ?? '' };
  if (step.status !== 'COMPLETED')
    return {
      word: step.status.toLowerCase(),
      tone: step.status === 'WAITING' ? 'mark-warn' : 'mark-accent',
      message: '',
    };
  const { result, decision, says, comment } = step.output ?? {};
  const word = result ?? decision;
  const message = says ?? comment;
  if (typeof word !== 'string') return { word: 'see its output', tone: '', message: '' };
  return { word, tone: TONES[word] ?? '', message: typeof message === 'string' ? message : '' };
}
