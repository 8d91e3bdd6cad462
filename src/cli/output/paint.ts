import pc from 'picocolors';
import type { Io } from '../io.js';
import { markSequences, sanitize } from './sanitize.js';

export type Paint = ReturnType<typeof pc.createColors>;

/** Colour only where a person sees it, and never against their will (no-color.org). */
export function paintFor(io: Pick<Io, 'columns' | 'env'>): Paint {
  const isRefused = (io.env.NO_COLOR ?? '') !== '' || io.env.TERM === 'dumb';
  const isColoured = io.columns !== null && !isRefused;
  const colours = pc.createColors(isColoured);
  return isColoured ? withMarkedSequences(colours) : colours;
}

/** The writer lets marked styles pass and no others: the text inside is made plain before the style goes around it. */
function withMarkedSequences(colours: Paint): Paint {
  const painters = Object.entries(colours).map(([name, paint]) => [
    name,
    typeof paint === 'function'
      ? (text: string | number) => markSequences(paint(sanitize(String(text))))
      : paint,
  ]);
  return Object.fromEntries(painters) as Paint;
}

/** Every readiness, state and outcome has one colour, wherever it is shown. */
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
