import { expect, test } from 'vitest';
import { actionsFor } from './operator-actions.js';

type State = Parameters<typeof actionsFor>[0];
const stateWith = (phase: State['phase'], readiness: State['readiness'], claimState?: string): State => ({
  phase,
  readiness,
  claim: claimState === undefined ? null : ({ state: claimState } as State['claim']),
});

test.each([
  [stateWith('COMPLETED', 'completed', 'RELEASED'), ['reset']],
  [stateWith('OPEN', 'ready'), ['hold', 'reassign']],
  [stateWith('OPEN', 'ready', 'EXPIRED'), ['hold', 'reassign']],
  [stateWith('OPEN', 'claimed', 'ACTIVE'), ['hold', 'force_release', 'reassign']],
  [stateWith('OPEN', 'suspended', 'SUSPENDED'), ['hold', 'force_release', 'reassign']],
  [stateWith('OPEN', 'held'), ['unhold', 'reassign']],
])('%# only the actions that the state allows are offered', (state, expected) => {
  expect(actionsFor(state)).toEqual(expected);
});
