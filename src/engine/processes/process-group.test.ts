import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { runProcessGroup } from './process-group.js';

/** Reads one chunk per turn of the event loop, and records how much was waiting meanwhile. */
class SlowReader extends Writable {
  receivedBytes = 0;
  waitingBytesMax = 0;

  constructor() {
    super({ highWaterMark: 16 * 1024 });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.receivedBytes += chunk.length;
    this.waitingBytesMax = Math.max(this.waitingBytesMax, this.writableLength);
    setImmediate(done);
  }
}

it('slows a program down to the speed of the reader, instead of keeping its output in memory', async () => {
  const sizeBytes = 16 * 1024 * 1024;
  const [stdout, stderr] = [new SlowReader(), new SlowReader()];
  const { exit_code } = await runProcessGroup({
    command: ['sh', '-c', `yes | head -c ${sizeBytes}; yes | head -c ${sizeBytes} >&2`],
    env: process.env,
    cwd: process.cwd(),
    stdout,
    stderr,
    signal: new AbortController().signal,
    stopWith: () => 'SIGTERM',
  });
  expect(exit_code).toBe(0);
  expect(stdout.receivedBytes + stderr.receivedBytes).toBeGreaterThan(sizeBytes);
  // One chunk of a pipe is at most 64 KiB.
  expect(Math.max(stdout.waitingBytesMax, stderr.waitingBytesMax)).toBeLessThanOrEqual(128 * 1024);
});
