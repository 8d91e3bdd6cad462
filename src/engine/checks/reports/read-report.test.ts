import { expect, it } from 'vitest';
import { readReport } from './read-report.js';

const NEVER = new AbortController().signal;
const read = (text: string, signal = NEVER, timeoutMs?: number) =>
  readReport('tap', Buffer.from(text), signal, timeoutMs);
/** Deeply nested subtests take long to parse: at each level, all lines below it are parsed again. */
const NESTED = Array.from({ length: 1500 }, (_, depth) => `${' '.repeat(4 * depth)}ok 1\n`)
  .reverse()
  .join('');

it('reads a report in a separate thread', async () => {
  expect(await read('1..2\nok 1\nnot ok 2\n')).toMatchObject({ passed: 1, failed: 1 });
  expect(await read('hello')).toMatchObject({ says: expect.stringContaining('not of the format tap') });
});

it('terminates the thread at the time limit, and does not block the main thread meanwhile', async () => {
  let ticks = 0;
  const ticking = setInterval(() => (ticks += 1), 1);
  const parsed = await read(NESTED, NEVER, 50).finally(() => clearInterval(ticking));
  expect(parsed).toEqual({ says: 'The report could not be read within 0.05 s.' });
  expect(ticks).toBeGreaterThan(0);
});

it('rejects when the signal is aborted while it reads', async () => {
  const stopController = new AbortController();
  const reading = read(NESTED, stopController.signal, 600_000);
  stopController.abort(new Error('stopped'));
  await expect(reading).rejects.toThrow('stopped');
});
