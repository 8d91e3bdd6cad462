import { expect, test } from 'vitest';
import { checkPushedIds } from './pushed.js';

test('a pushed command that repeats an earlier one withdraws the refusals that it has counted', () => {
  let withdrawals = 0;
  const operation = {
    kind: 'claim',
    requestKey: null,
    attempt: () => {
      throw new Error('This test does not decide the command.');
    },
    withdraw: () => {
      withdrawals += 1;
    },
  };
  const pushed = { event_id: 'e1', generation: 1, occurred_at: '2026-01-04T06:00:00.000Z' };
  checkPushedIds(operation, pushed as never, null as never).withdraw?.();
  expect(withdrawals).toBe(1);
});
