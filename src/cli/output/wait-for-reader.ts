import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Waits until the reader of a stream has caught up, or the signal aborts: text must not collect in memory. */
export async function waitForReader(output: Writable, signal: AbortSignal): Promise<void> {
  if (output.writableNeedDrain && !signal.aborted) await once(output, 'drain', { signal }).catch(() => {});
}
