import type { Cost } from '../core/engine/check-outcome.js';
import { ENGINE_ERRORS, type EngineErrorName } from '../core/engine/run-data.js';

/** A failed step. Its name decides whether the machine tries again, catches it or ends. */
export class EngineError extends Error {
  constructor(
    override readonly name: EngineErrorName,
    message: string,
    /** What the failed attempt has spent. */
    readonly cost: Cost | null = null,
  ) {
    super(message);
  }
}

/** A failure replayed from the log: the next attempt follows without a pause. */
export class RecordedError extends EngineError {
  readonly isRecorded = true;
}

export const engineError = (
  kind: keyof typeof ENGINE_ERRORS,
  message: string,
  cost: Cost | null = null,
): EngineError => new EngineError(ENGINE_ERRORS[kind], message, cost);
