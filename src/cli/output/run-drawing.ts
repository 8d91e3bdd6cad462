import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { StateMachine } from '../../core/engine/asl.js';
import { type Cost, NO_COST } from '../../core/engine/check-outcome.js';
import type { StepEvent } from '../../engine/runs/execute-run.js';

export type StateMark = 'pending' | 'current' | 'done' | 'waiting' | 'failed';

interface DrawnCheck {
  readonly name: string;
  /** The state in which the check runs. */
  readonly state: string;
  /** Null: it has not ended in this iteration. */
  readonly result: string | null;
}

/** The data of a drawn run: its machine, and its current state. */
export interface DrawnRun {
  readonly subject: string;
  readonly generation: number;
  readonly iteration: number;
  readonly max_iterations: number;
  /** Required checks that have not passed in the last judged iteration; null before the first. */
  readonly delta: number | null;
  readonly spent: Cost;
  readonly states: readonly { readonly name: string; readonly mark: StateMark }[];
  readonly checks: readonly DrawnCheck[];
}

const STATE_BY_TYPE: Readonly<Partial<Record<EffectiveCheck['type'], string>>> = {
  deterministic: 'DeterministicChecks',
  agent: 'AgentChecks',
};
/** The last states of a run. Each run enters at most one of them, which is drawn from then on. */
const END_STATES = new Set(['Promote', 'Escalate']);
const FIRST_OF_ITERATION = 'ConstructCandidate';

export function startedDrawing(
  start: Pick<DrawnRun, 'subject' | 'generation' | 'max_iterations'>,
  machine: StateMachine,
  checks: readonly EffectiveCheck[],
): DrawnRun {
  const names = Object.entries(machine.States).flatMap(([name, { Type }]) =>
    (Type === 'Task' || Type === 'Parallel') && !END_STATES.has(name) ? [name] : [],
  );
  return {
    ...start,
    iteration: 1,
    delta: null,
    spent: NO_COST,
    states: names.map((name) => ({ name, mark: 'pending' })),
    checks: checks.flatMap(({ name, type }) => {
      const state = STATE_BY_TYPE[type];
      return state === undefined || !names.includes(state) ? [] : [{ name, state, result: null }];
    }),
  };
}

/** The run enters a state. States that only choose or pass on data are not drawn. */
export function enterState(run: DrawnRun, name: string): DrawnRun {
  const earlierStates = run.states.map((state) =>
    state.mark === 'current' ? { ...state, mark: 'done' as const } : state,
  );
  if (END_STATES.has(name)) return { ...run, states: [...earlierStates, { name, mark: 'current' }] };
  const current = earlierStates.findIndex((state) => state.name === name);
  if (current === -1) return { ...run, states: earlierStates };
  const states = earlierStates.map((state, index) =>
    index < current
      ? state
      : { ...state, mark: index === current ? ('current' as const) : ('pending' as const) },
  );
  const isNewIteration = name === FIRST_OF_ITERATION;
  const checks = isNewIteration ? run.checks.map((check) => ({ ...check, result: null })) : run.checks;
  return { ...run, states, checks };
}

/** A step has ended, now or in an earlier execution of the run. */
export function endStep(run: DrawnRun, event: StepEvent): DrawnRun {
  const { state, check, iteration, spent, result, error } = event;
  const next: DrawnRun = { ...run, iteration: Math.max(run.iteration, iteration), spent };
  if (error !== null && check === null) return markState(next, state, 'failed');
  const { delta, result: checkResult } = (result ?? {}) as { delta?: unknown; result?: unknown };
  // A state that has failed may succeed when it is tried again.
  if (check === null)
    return markState(typeof delta === 'number' ? { ...next, delta } : next, state, 'current');
  const shown = error === null ? String(checkResult) : 'error';
  const checks = next.checks.map((each) => (each.name === check ? { ...each, result: shown } : each));
  const stateName = checks.find(({ name }) => name === check)?.state ?? '';
  const isFailed = error !== null || (result as { blocks?: unknown } | null)?.blocks === true;
  return isFailed ? markState({ ...next, checks }, stateName, 'failed') : { ...next, checks };
}

/** The run has ended, or waits for a person. */
export const endDrawing = (run: DrawnRun, isWaiting: boolean): DrawnRun => ({
  ...run,
  states: run.states.map((state) =>
    state.mark === 'current' ? { ...state, mark: isWaiting ? 'waiting' : 'done' } : state,
  ),
});

const markState = (run: DrawnRun, name: string, mark: StateMark): DrawnRun => ({
  ...run,
  states: run.states.map((state) => (state.name === name ? { ...state, mark } : state)),
});
