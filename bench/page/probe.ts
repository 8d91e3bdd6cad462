import type { Page } from 'playwright-core';
import type { MainThreadTime, Renderer } from './renderer.js';

/** An interaction: what a person does, and how the document looks when its result is there. */
export interface Interaction {
  readonly name: string;
  /** The first event of this type starts the clock. */
  readonly event: 'keydown' | 'click' | 'wheel' | 'pointermove';
  /** Runs before the clock starts. */
  prepare?(page: Page, round: number): Promise<void>;
  act(page: Page, round: number): Promise<void>;
  /** An expression that is true in the page once the result is shown. */
  shownExpression(round: number): string;
  /** An expression in the page, evaluated before the interaction; `shownExpression` can refer to its value as `before`. */
  readonly state?: string;
}

export interface InteractionTimes {
  /** From the event to the next frame on the screen. */
  readonly paint_ms: number;
  /** From the event to the frame with its result. */
  readonly shown_ms: number;
  readonly cpu: MainThreadTime;
}

export async function measure(
  page: Page,
  renderer: Renderer,
  interaction: Interaction,
  round: number,
): Promise<InteractionTimes> {
  await interaction.prepare?.(page, round);
  await page.evaluate(probeScript(interaction, round));
  const before = await renderer.mainThreadTime();
  await interaction.act(page, round);
  const times = await page.evaluate<{ paint_ms: number; shown_ms: number }>('window.measured');
  const after = await renderer.mainThreadTime();
  const cpu = {
    task: after.task - before.task,
    script: after.script - before.script,
    layout: after.layout - before.layout,
  };
  return { ...times, cpu };
}

/** Without a result after this time, the benchmark fails. */
const RESULT_MAX_MS = 10_000;

/**
 * The script that measures an interaction in the page. A message that is sent in the callback of a frame arrives after the
 * frame is drawn, so its arrival is the time of the frame.
 */
const probeScript = (
  { name, event, shownExpression, state = 'null' }: Interaction,
  round: number,
): string => `
  window.measured = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('${name}: no result after ${RESULT_MAX_MS} ms')), ${RESULT_MAX_MS});
    const before = ${state};
    const onEvent = ({ timeStamp }) => {
      let paint_ms = null;
      const onFrame = () => {
        const isShown = ${shownExpression(round)};
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          const shown_ms = performance.now() - timeStamp;
          paint_ms ??= shown_ms;
          if (isShown) resolve({ paint_ms, shown_ms });
          else requestAnimationFrame(onFrame);
        };
        port2.postMessage(null);
      };
      requestAnimationFrame(onFrame);
    };
    addEventListener('${event}', onEvent, { capture: true, once: true });
  });
  undefined`;
