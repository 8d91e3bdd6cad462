import { expect, it } from 'vitest';
import { restartDelayMs } from './agent-process.js';

it('waits longer before each restart in a row, up to a minute', () => {
  expect([1, 2, 3, 8, 9, 1000].map(restartDelayMs)).toEqual([500, 1000, 2000, 60_000, 60_000, 60_000]);
});
