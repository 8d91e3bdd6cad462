import { expect, test } from 'vitest';
import { compileMachine } from '../../../../src/core/engine/compile-machine.js';
import { buildEdgePlan, buildCheck as check } from '../../../../src/core/engine/testing.js';
import { machineOutline } from './machine-outline.js';

const outlineOf = (...checks: ReturnType<typeof check>[]) =>
  machineOutline(JSON.stringify(compileMachine(buildEdgePlan({ checks })).machine));

test('a machine has the gate only if a person must decide', () => {
  const automatic = outlineOf(check('tests pass', 'deterministic'));
  expect(automatic?.states.has('HumanGate')).toBe(false);
  expect(automatic?.states.has('AgentChecks')).toBe(false);
  expect(automatic?.checkSteps).toEqual(['run_check tests pass']);
  const reviewed = outlineOf(check('reads well', 'agent'), check('wanted', 'human'));
  expect(reviewed?.states.has('HumanGate')).toBe(true);
  expect(reviewed?.checkSteps).toEqual(['judge_check reads well', 'request_review']);
});

test.each(['', 'null', '[]', '{"States":[]', '{"States":null}'])('%j is not a machine', (text) => {
  expect(machineOutline(text)).toBeNull();
});
