import type { Paint } from './paint.js';
import { costText } from './run.js';
import type { DrawnRun, StateMark } from './run-drawing.js';
import { truncate } from './text.js';

const SIGNS: Readonly<Record<StateMark, string>> = {
  pending: '○',
  current: '●',
  done: '✓',
  waiting: '…',
  failed: '✗',
};
const COLOURS = {
  pending: 'dim',
  current: 'cyan',
  done: 'green',
  waiting: 'yellow',
  failed: 'red',
} as const satisfies Record<StateMark, keyof Paint>;
const NOTES: Readonly<Partial<Record<StateMark, string>>> = { waiting: '  waits for a person' };
/** Maximum number of drawn checks of a state: more would not fit on a screen. */
const CHECKS_DRAWN_MAX = 12;

/** A run as a column of lines, none wider than the terminal. Names from files are kept to one line. */
export function drawRun(run: DrawnRun, width: number, paint: Paint): string[] {
  const stateLine = (mark: StateMark, indent: number, text: string): string => {
    const fitting = truncate(text, width - indent - 2);
    return `${' '.repeat(indent)}${paint[COLOURS[mark]](SIGNS[mark])} ${mark === 'pending' ? paint.dim(fitting) : fitting}`;
  };
  const checksOf = (state: string): string[] => {
    const checks = run.checks.filter((check) => check.state === state);
    const lines = checks
      .slice(0, CHECKS_DRAWN_MAX)
      .map(({ name, result }) =>
        stateLine(checkMark(result), 4, result === null ? name : `${name}  ${result}`),
      );
    const more = checks.length - CHECKS_DRAWN_MAX;
    return more > 0 ? [...lines, truncate(`    and ${more} more`, width)] : lines;
  };
  return [
    paint.bold(truncate(`${run.subject}, generation ${run.generation}`, width)),
    ...run.states.flatMap(({ name, mark }) => [
      stateLine(mark, 2, `${name}${NOTES[mark] ?? ''}`),
      ...checksOf(name),
    ]),
    paint.dim(truncate(summaryText(run), width)),
  ];
}

const summaryText = ({ iteration, max_iterations, delta, spent }: DrawnRun): string =>
  [
    `iteration ${iteration} of ${max_iterations}`,
    ...(delta === null ? [] : [`delta ${delta}`]),
    costText(spent),
  ].join(', ');

const checkMark = (result: string | null): StateMark =>
  result === null ? 'pending' : result === 'pass' ? 'done' : result === 'pending' ? 'waiting' : 'failed';
