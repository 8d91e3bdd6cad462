import type { Paint } from './paint.js';

/** How far a step is, in one character: the same in every view. */
const MARKS: Readonly<
  Record<string, readonly [mark: string, colour: 'green' | 'cyan' | 'dim' | 'yellow' | 'red']>
> = {
  converged: ['✓', 'green'],
  iterating: ['●', 'cyan'],
  in_progress: ['●', 'cyan'],
  pending_review: ['●', 'yellow'],
  pending: ['○', 'dim'],
  blocked: ['✗', 'red'],
};

export function mark(status: string, paint: Paint): string {
  const [sign, colour] = MARKS[status] ?? ['○', 'dim'];
  return paint[colour](sign);
}

export const LEGEND = '✓ converged  ● at work  ○ pending  ✗ blocked';
