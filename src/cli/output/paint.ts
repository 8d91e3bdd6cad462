import pc from 'picocolors';
import type { Io } from '../io.js';

export type Paint = ReturnType<typeof pc.createColors>;

/** Colour only where a person sees it, and never against their will (no-color.org). */
export function paintFor(io: Io): Paint {
  const is_refused = (io.env.NO_COLOR ?? '') !== '' || io.env.TERM === 'dumb';
  return pc.createColors(io.columns !== null && !is_refused);
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
