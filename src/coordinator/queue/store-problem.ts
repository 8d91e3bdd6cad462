import { LogDamaged, StoreUnavailable } from '../../stores/store.js';
import { type Problem, problem } from '../wire/problem.js';

/** The problem for a store error whose command had no effect; null if it may have had one, or if the error is a bug. */
export function problemFromStoreError(error: unknown): Problem | null {
  if (error instanceof StoreUnavailable) return problem('UNAVAILABLE', `Nothing happened: ${error.message}`);
  if (!(error instanceof LogDamaged)) return null;
  const { file, line, why } = error.damage;
  return problem('LOG_DAMAGED', `Nothing happened: ${error.message}`, [
    { file, path: '', message: why, line },
  ]);
}
