import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { waitForReader } from './wait-for-reader.js';

const NOT_STOPPED = new AbortController().signal;

/** A stream whose reader is behind until `read` is called. */
function unreadStream(): { output: Writable; read: () => void } {
  let read = (): void => {};
  const output = new Writable({
    highWaterMark: 4,
    write: (_chunk, _encoding, done) => {
      read = done;
    },
  });
  output.write('a line that nobody reads');
  return { output, read: () => read() };
}

it('waits until the reader has read what was written', async () => {
  const { output, read } = unreadStream();
  let hasReturned = false;
  const waiting = waitForReader(output, NOT_STOPPED).then(() => {
    hasReturned = true;
  });
  await new Promise(setImmediate);
  expect(hasReturned).toBe(false);
  read();
  await waiting;
  expect(output.writableNeedDrain).toBe(false);
});

it('does not wait any longer once the command is stopped', async () => {
  const { output } = unreadStream();
  const stopController = new AbortController();
  const waiting = waitForReader(output, stopController.signal);
  stopController.abort();
  await waiting;
  expect(output.writableNeedDrain).toBe(true);
  await waitForReader(output, stopController.signal);
});

it('does not wait for a reader that keeps up', async () => {
  await waitForReader(new Writable({ write: (_chunk, _encoding, done) => done() }), NOT_STOPPED);
});
