import { type EventContext, statusWithoutReview } from './event-context.js';
import type { EdgeState } from './feature-state.js';
import { countIn, isFields, payloadField, shortTextIn } from './payload.js';

export const DELTAS_MAX = 16;
const FAILING_MAX = 200;
/** Results of a check that failed. A skipped check is not counted as failed. */
export const FAILED_RESULTS: ReadonlySet<unknown> = new Set(['fail', 'error']);

/**
 * Folds a completed iteration. A convergence that it reports does not count: an edge converges only by an event of its own,
 * such as `edge_converged`.
 */
export function onIterationCompleted(context: EventContext): void {
  const edge = context.ensureEdge();
  if (edge === null) return;
  const { payload } = context;
  const status = shortTextIn(payload, 'status')?.toLowerCase();
  edge.iteration = countIn(payload, 'iteration') ?? edge.iteration + 1;
  edge.delta = countIn(payload, 'delta');
  edge.deltas.push(edge.delta);
  if (edge.deltas.length > DELTAS_MAX) edge.deltas.shift();
  edge.context_hash = shortTextIn(payload, 'context_hash') ?? edge.context_hash;
  const evaluators = payloadField(payload, 'evaluators');
  edge.evaluators = parseCheckCounts(evaluators) ?? edge.evaluators;
  countFailures(edge, isFields(evaluators) ? evaluators.details : undefined);
  if (edge.status === 'converged') return;
  edge.has_unproven_convergence = status === 'converged';
  if (edge.status !== 'pending_review')
    edge.status = status === 'blocked' ? 'blocked' : statusWithoutReview(edge);
}

/**
 * Counts consecutive failures: a check that passed, was skipped or is not in the report starts again at zero. Without a
 * report the counts stay as they are.
 */
function countFailures({ failing }: EdgeState, details: unknown): void {
  if (!Array.isArray(details)) return;
  const failedNames = new Set<string>();
  for (const detail of details.slice(0, FAILING_MAX)) {
    const name = isFields(detail) ? shortTextIn(detail, 'name') : null;
    if (name !== null && isFields(detail) && FAILED_RESULTS.has(detail.result)) failedNames.add(name);
  }
  for (const name of failing.keys()) if (!failedNames.has(name)) failing.delete(name);
  for (const name of failedNames) failing.set(name, (failing.get(name) ?? 0) + 1);
}

/** The counts of a report without its details. Some tools write `9/9`. */
export function parseCheckCounts(raw: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof raw === 'string') {
    const [, passed, total] = /^\s*(\d{1,6})\s*\/\s*(\d{1,6})/.exec(raw) ?? [];
    return passed === undefined ? null : { passed: Number(passed), total: Number(total) };
  }
  if (!isFields(raw)) return null;
  const counts = ['passed', 'failed', 'skipped', 'total'].flatMap((name) => {
    const count = countIn(raw, name);
    return count === null ? [] : [[name, count] as const];
  });
  return counts.length === 0 ? null : Object.fromEntries(counts);
}
