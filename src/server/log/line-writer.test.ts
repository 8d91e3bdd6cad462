import { expect, test } from 'vitest';
import { LogLineWriter } from './line-writer.js';

const errorWithCode = (code: string) => Object.assign(new Error(code), { code });

/** A log whose writes follow a script: write everything, write this many bytes, or fail with this code. */
function scriptedAppend(...script: (number | 'all' | string)[]) {
  let text = '';
  const append = async (bytes: Buffer): Promise<number> => {
    const step = script.shift() ?? 'all';
    if (step !== 'all' && typeof step === 'string') throw errorWithCode(step);
    const writtenBytes = step === 'all' ? bytes.length : step;
    text += bytes.subarray(0, writtenBytes);
    return writtenBytes;
  };
  return { append, text: () => text };
}

const SETTINGS = { pending_chars_max: 20, retry_ms: 0, close_within_ms: 3600_000 };

function createLineWriter(...script: (number | 'all' | string)[]) {
  const log = scriptedAppend(...script);
  const failures: string[] = [];
  const writer = new LogLineWriter(log.append, ({ code = '' }) => failures.push(code), SETTINGS);
  /** Writes the lines together, and resolves when they are written or lost. */
  const write = async (...lines: string[]): Promise<void> => {
    for (const line of lines) writer.write(line);
    await writer.close();
  };
  return { writer, write, failures, text: log.text };
}

test('writes lines in order, also after partial writes', async () => {
  const { writer, write, text } = createLineWriter(3, 1);
  await write('one\n', 'two\n');
  expect([text(), writer.lostLineCount]).toEqual(['one\ntwo\n', 0]);
});

test('drops and counts lines while the disk is full, and starts a new line when writes succeed again', async () => {
  const { writer, write, text } = createLineWriter('all', 2, 'ENOSPC');
  await write('one\n', 'two\n', 'six\n');
  expect([text(), writer.lostLineCount]).toEqual(['one\ntw', 2]);
  await write('ten\n');
  expect([text(), writer.lostLineCount]).toEqual(['one\ntw\nten\n', 2]);
});

test('reports the first failure, and the first failure after a successful write', async () => {
  const { writer, write, failures } = createLineWriter('ENOSPC', 'EPIPE', 'all', 'EIO');
  for (const line of ['1\n', '2\n', '3\n', '4\n']) await write(line);
  expect([failures, writer.lostLineCount]).toEqual([['ENOSPC', 'EIO'], 3]);
});

test('waits for a full pipe to be read', async () => {
  const log = scriptedAppend('EAGAIN', 'EAGAIN');
  const writer = new LogLineWriter(log.append, undefined, SETTINGS);
  writer.write('one\n');
  while (log.text() === '') await new Promise((resolve) => setImmediate(resolve));
  expect([log.text(), writer.lostLineCount]).toEqual(['one\n', 0]);
});

test('does not wait for a full pipe on close', async () => {
  const { writer, write } = createLineWriter(...Array(100).fill('EAGAIN'));
  await write('one\n', 'two\n');
  expect(writer.lostLineCount).toBe(2);
});

test('does not wait on close for a write that never ends', async () => {
  const writer = new LogLineWriter(() => new Promise(() => {}), undefined, {
    ...SETTINGS,
    close_within_ms: 0,
  });
  writer.write('one\n');
  await writer.close();
});

test('drops and counts lines beyond the buffer limit', async () => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const log = scriptedAppend();
  const writer = new LogLineWriter((bytes) => released.then(() => log.append(bytes)), undefined, SETTINGS);
  for (let line = 0; line < 10; line += 1) writer.write(`${line}234567\n`);
  expect(writer.lostLineCount).toBe(8);
  release();
  await writer.close();
  writer.write('again\n');
  await writer.close();
  expect(log.text()).toBe('0234567\n1234567\nagain\n');
});

test('escapes control characters and line separators that JSON leaves as they are', async () => {
  const { write, text } = createLineWriter();
  await write('"\u009b31m \u2028\u202e\u2069"\n');
  expect(text()).toBe('"\\u009b31m \\u2028\\u202e\\u2069"\n');
  expect(JSON.parse(text())).toBe('\u009b31m \u2028\u202e\u2069');
});
