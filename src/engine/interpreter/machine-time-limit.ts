import type { StateMachine } from '../../core/engine/asl.js';
import { MachineError } from './machine-error.js';

export const STATES_TIMEOUT = 'States.Timeout';
export const timeoutText = ({ TimeoutSeconds }: StateMachine): string =>
  `The machine has not ended after ${TimeoutSeconds} seconds.`;

export type StartTimer = (seconds: number, expire: () => void) => { clear(): void };

interface TimeLimit {
  readonly signal: AbortSignal;
  isReached(): boolean;
  end(): void;
}

/** Starts the time limit of a machine, if it has one. The returned signal is aborted at the limit, or with `signal`. */
export function startTimeLimit(
  machine: StateMachine,
  signal: AbortSignal,
  startTimer: StartTimer = processTimer,
): TimeLimit {
  const { TimeoutSeconds: seconds } = machine;
  if (seconds === undefined) return { signal, isReached: () => false, end: () => {} };
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  let isReached = false;
  const expire = (): void => {
    isReached = !controller.signal.aborted;
    controller.abort(new MachineError(STATES_TIMEOUT, timeoutText(machine)));
  };
  const timer = startTimer(seconds, expire);
  return {
    signal: controller.signal,
    isReached: () => isReached,
    end() {
      timer.clear();
      signal.removeEventListener('abort', stop);
    },
  };
}

const processTimer: StartTimer = (seconds, expire) => {
  const timer = setTimeout(expire, seconds * 1000);
  return { clear: () => clearTimeout(timer) };
};
