import type { EdgeState } from './feature-state.js';
import { countIn, fieldOf, isFields, nameIn } from './payload.js';
import { restingStatus, type Scene } from './scene.js';

export const DELTAS_MAX = 16;
const FAILING_MAX = 200;
const FAILED: ReadonlySet<unknown> = new Set(['fail', 'error']);

/** What an iteration tells of itself. That it converged is its own word: only `edge_converged` is evidence. */
export function iterationCompleted(scene: Scene): void {
  const edge = scene.edge();
  if (edge === null) return;
  const { payload } = scene;
  const status = nameIn(payload, 'status')?.toLowerCase();
  edge.iteration = countIn(payload, 'iteration') ?? edge.iteration + 1;
  edge.delta = countIn(payload, 'delta');
  edge.deltas.push(edge.delta);
  if (edge.deltas.length > DELTAS_MAX) edge.deltas.shift();
  edge.context_hash = nameIn(payload, 'context_hash') ?? edge.context_hash;
  const evaluators = fieldOf(payload, 'evaluators');
  edge.evaluators = checkCounts(evaluators) ?? edge.evaluators;
  countFailures(edge, isFields(evaluators) ? evaluators.details : undefined);
  if (edge.status === 'converged') return;
  edge.unproven = status === 'converged';
  if (edge.status !== 'pending_review') edge.status = status === 'blocked' ? 'blocked' : restingStatus(edge);
}

/** In a row: a check that passed, was skipped or was not told of this time begins anew. */
function countFailures({ failing }: EdgeState, details: unknown): void {
  if (!Array.isArray(details)) return;
  const failed = new Set<string>();
  for (const detail of details.slice(0, FAILING_MAX)) {
    const name = isFields(detail) ? nameIn(detail, 'name') : null;
    if (name !== null && isFields(detail) && FAILED.has(detail.result)) failed.add(name);
  }
  for (const name of failing.keys()) if (!failed.has(name)) failing.delete(name);
  for (const name of failed) failing.set(name, (failing.get(name) ?? 0) + 1);
}

/** The counts without the details; some tools write `9/9`. */
export function checkCounts(told: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof told === 'string') {
    const [, passed, total] = /^\s*(\d{1,6})\s*\/\s*(\d{1,6})/.exec(told) ?? [];
    return passed === undefined ? null : { passed: Number(passed), total: Number(total) };
  }
  if (!isFields(told)) return null;
  const counts = ['passed', 'failed', 'skipped', 'total'].flatMap((name) => {
    const count = countIn(told, name);
    return count === null ? [] : [[name, count] as const];
  });
  return counts.length === 0 ? null : Object.fromEntries(counts);
}
