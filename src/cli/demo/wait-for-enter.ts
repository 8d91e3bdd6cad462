import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** The agents start by themselves after this long. */
export const AUTO_START_SECONDS = 30;

/** Waits for Enter, so that a person can open the page before anything happens. */
export async function waitForEnter(stdin: Readable, stopSignal: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([stopSignal, AbortSignal.timeout(AUTO_START_SECONDS * 1000)]);
  const lines = createInterface({ input: stdin });
  try {
    await once(lines, 'line', { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    lines.close();
  }
}
