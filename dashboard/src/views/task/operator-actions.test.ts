import { expect, test } from 'vitest';
import { actionsFor } from './operator-actions.js';

type State = Parameters<typeof actionsFor>[0];
const state = (phase: State['phase'], readiness: State['readiness'], claimState?: string): State => ({
  phase,
  readiness,
  claim: claimState === undefined ? null : ({ state: claimState } as State['claim']),
});

test.each([
  [state('COMPLETED', 'completed', 'RELEASED'), ['reset']],
  [state('OPEN', 'ready'), ['hold', 'reassign']],
  [state('OPEN', 'ready', 'EXPIRED'), ['hold', 'reassign']],
  [state('OPEN', 'claimed', 'ACTIVE'), ['hold', 'force_release', 'reassign']],
  [state('OPEN', 'suspended', 'SUSPENDED'), ['hold', 'force_release', 'reassign']],
  [state('OPEN', 'held'), ['unhold', 'reassign']],
])('%# only actions that make sense are offered', (given, expected) => {
  expect(actionsFor(given)).toEqual(expected);
});
