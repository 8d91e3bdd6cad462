import { once } from 'node:events';
import type { CommandContext } from './context.js';
import { markSequences } from './output/sanitize.js';
import { abortOnStop } from './stop.js';

const CLEAR = markSequences('\u001b[H\u001b[2J\u001b[3J');
/** Interval of renderings without a notification: the end of a backoff, and a claim that becomes stale, produce no event. */
const POLL_INTERVAL_MS = 2000;

export interface RenderedView {
  readonly json: unknown;
  readonly text: string;
}

export const showView = (context: CommandContext, { json, text }: RenderedView): void =>
  context.printReply(json, () => text);

/** Calls `onChange` whenever something may have changed, until the signal aborts. */
type ChangeSource = (onChange: () => void, signal: AbortSignal) => Promise<void>;

/** Redraws when the rendered view has changed. Renders on every change notification and at a fixed interval. */
export async function watch(
  context: CommandContext,
  render: () => Promise<RenderedView>,
  listenForChanges: ChangeSource = noChanges,
): Promise<void> {
  const stop = abortOnStop(context.io);
  const { signal } = stop;
  const canRedraw = context.io.columns !== null && !context.is_json;
  const changes = new ChangeSignal();
  const timer = setInterval(() => changes.notify(), POLL_INTERVAL_MS);
  signal.addEventListener('abort', () => changes.notify());
  const listening = listenForChanges(() => changes.notify(), signal);
  listening.catch(() => changes.notify());
  let lastText = '';
  try {
    while (!signal.aborted) {
      const { json, text: plain } = await render();
      const text = context.is_json ? JSON.stringify(json) : plain;
      if (text !== lastText) context.print(canRedraw ? `${CLEAR}${text}` : text);
      lastText = text;
      await Promise.race([changes.wait(), listening]);
    }
    await listening;
  } finally {
    clearInterval(timer);
    stop.end();
  }
}

/** A source without notifications: the view is rendered at the interval only. */
const noChanges: ChangeSource = async (_, signal) => {
  if (!signal.aborted) await once(signal, 'abort');
};

/** Coalesces notifications: those that arrive while nothing waits wake the next waiter once. */
export class ChangeSignal {
  notify: () => void = () => {};
  private notified = this.nextNotification();

  async wait(): Promise<void> {
    await this.notified;
    this.notified = this.nextNotification();
  }

  private nextNotification(): Promise<void> {
    return new Promise((resolve) => {
      this.notify = resolve;
    });
  }
}
