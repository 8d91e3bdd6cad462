import pc from 'picocolors';
import type { Io } from '../io.js';
import { markSequences, sanitize } from './sanitize.js';

export type Paint = ReturnType<typeof pc.createColors>;

/** Colours only on a terminal, and not if `NO_COLOR` is set (no-color.org) or `TERM` is `dumb`. */
export function paintFor(io: Pick<Io, 'columns' | 'env'>): Paint {
  const isRefused = (io.env.NO_COLOR ?? '') !== '' || io.env.TERM === 'dumb';
  const isColoured = io.columns !== null && !isRefused;
  const colours = pc.createColors(isColoured);
  return isColoured ? withMarkedSequences(colours) : colours;
}

/** Marks the CLI's own styles, since the output escapes unmarked sequences. Sanitizes the text first. */
function withMarkedSequences(colours: Paint): Paint {
  const painters = Object.entries(colours).map(([name, paint]) => [
    name,
    typeof paint === 'function'
      ? (text: string | number) => markSequences(paint(sanitize(String(text))))
      : paint,
  ]);
  return Object.fromEntries(painters) as Paint;
}

const STATES_BY_COLOUR = {
  green: ['completed', 'ACCEPTED', 'COMPLETED'],
  cyan: ['claimed', 'ACTIVE', 'IN_PROGRESS'],
  bold: ['ready'],
  yellow: ['held', 'stale', 'suspended', 'exhausted', 'SUSPENDED', 'EXPIRED', 'ERROR', 'FORCED'],
  dim: ['blocked', 'backoff'],
} as const;

/** The colour of a readiness, state or outcome, the same in every view. */
export function paintState(paint: Paint, state: string): string {
  for (const [colour, states] of Object.entries(STATES_BY_COLOUR)) {
    if ((states as readonly string[]).includes(state))
      return paint[colour as keyof typeof STATES_BY_COLOUR](state);
  }
  return state;
}
