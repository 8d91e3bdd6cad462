import { withResultCounts } from '../core/methodology/definition/convergence.js';
import type { CheckReport, CheckReports } from './requests.js';
import type { EdgeResult } from './work-options.js';

const EDGE_RESULT_KEYS = 'evaluators,result';

/** Splits the value that a handler returned for an edge into the result of the edge and the results of its checks. */
export function parseEdgeResult(returned: unknown): { readonly result: unknown; evaluators?: CheckReports } {
  if (!isEdgeResult(returned)) return { result: returned };
  const { result, evaluators } = returned;
  if (evaluators === undefined) return { result };
  if (!Array.isArray(evaluators))
    throw new TypeError('`evaluators` is not a list. Return the results of checks: [{ name, result }, …].');
  return { result, evaluators: withResultCounts(evaluators as readonly CheckReport[]) };
}

const isEdgeResult = (value: unknown): value is EdgeResult =>
  typeof value === 'object' && value !== null && Object.keys(value).sort().join() === EDGE_RESULT_KEYS;
