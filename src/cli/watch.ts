import type { Context } from './context.js';
import { marked } from './output/plain.js';
import { stopSignal } from './stop.js';

const CLEAR = marked('\u001b[H\u001b[2J\u001b[3J');
/** Some things change by time alone: a backoff ends, a claim grows stale. */
const LOOK_EVERY_MS = 2000;

export interface Sight {
  readonly json: unknown;
  readonly text: string;
}

export const show = (context: Context, { json, text }: Sight): void => context.show(json, () => text);

/** Rings the bell whenever something may have changed, until the signal aborts. */
export type Listen = (changed: () => void, signal: AbortSignal) => Promise<void>;

/** Draws anew whenever what there is to see has changed; looks every now and then, and when it is told to. */
export async function watch(
  context: Context,
  look: () => Promise<Sight>,
  listen: Listen = silence,
): Promise<void> {
  const stop = stopSignal(context.io);
  const { signal } = stop;
  const is_screen = context.io.columns !== null && !context.is_json;
  const changed = new Bell();
  const timer = setInterval(() => changed.ring(), LOOK_EVERY_MS);
  signal.addEventListener('abort', () => changed.ring());
  const listening = listen(() => changed.ring(), signal);
  listening.catch(() => changed.ring());
  let drawn = '';
  try {
    while (!signal.aborted) {
      const { json, text: plain } = await look();
      const text = context.is_json ? JSON.stringify(json) : plain;
      if (text !== drawn) context.print(is_screen ? `${CLEAR}${text}` : text);
      drawn = text;
      await Promise.race([changed.rung(), listening]);
    }
    await listening;
  } finally {
    clearInterval(timer);
    stop.end();
  }
}

/** Nobody tells: only time does. */
const silence: Listen = (_, signal) =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Rung any number of times while nobody waits, it is heard once. */
class Bell {
  private is_rung = false;
  private hear: (() => void) | null = null;

  ring(): void {
    this.is_rung = true;
    this.hear?.();
  }

  async rung(): Promise<void> {
    if (!this.is_rung) {
      await new Promise<void>((resolve) => {
        this.hear = resolve;
      });
    }
    this.is_rung = false;
    this.hear = null;
  }
}
