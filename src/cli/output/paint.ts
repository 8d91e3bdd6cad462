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

/**
 * Marks the CLI's own styles, since the output stream escapes unmarked sequences. The text is sanitized before it
 * is styled.
 */
function withMarkedSequences(colours: Paint): Paint {
  const painters = Object.entries(colours).map(([name, paint]) => [
    name,
    typeof paint === 'function'
      ? (text: string | number) => markSequences(paint(sanitize(String(text))))
      : paint,
  ]);
  return Object.fromEntries(painters) as Paint;
}

/** The colour of a readiness, state or outcome, the same in every view. */
export function paintState(paint: Paint, state: string): string {
  switch (state) {
    case 'completed':
    case 'ACCEPTED':
    case 'COMPLETED':
      return paint.green(state);
    case 'claimed':
    case 'ACTIVE':
    case 'IN_PROGRESS':
      return paint.cyan(state);
    case 'ready':
      return paint.bold(state);
    case 'held':
    case 'stale':
    case 'suspended':
    case 'exhausted':
    case 'SUSPENDED':
    case 'EXPIRED':
    case 'ERROR':
    case 'FORCED':
      return paint.yellow(state);
    case 'blocked':
    case 'backoff':
      return paint.dim(state);
    default:
      return state;
  }
}
