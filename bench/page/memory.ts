import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { integerText, table } from '../table.js';
import { PAGE_QUERY } from './fleet.js';
import { Renderer } from './renderer.js';

const VIEWS = { fleet: '', log: 'log' } as const;
type View = keyof typeof VIEWS;
const SAMPLES = 10;
/** The growth per minute ignores the samples before this one, because a view grows until its lists are full. */
const SETTLED_FROM = 5;
/** The lowest of several readings counts: a reading while a reply is being processed includes that reply. */
const READINGS = 4;
const READING_PAUSE_MS = 1500;

interface Sample {
  readonly minute: number;
  readonly heap_kb: number;
  readonly nodes: number;
}

/** Measures the memory of the fleet view and of the log view while events arrive for the given minutes. */
export async function benchMemory(browser: Browser, url: string, minutes: number): Promise<void> {
  const series: Record<View, Sample[]> = { fleet: [], log: [] };
  const renderers = new Map<View, Renderer>();
  for (const view of Object.keys(VIEWS) as View[]) {
    const page: Page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(`${url}/${PAGE_QUERY}#/${VIEWS[view]}`);
    renderers.set(view, await Renderer.attachTo(page));
  }
  for (let sample = 0; sample <= SAMPLES; sample++) {
    const minute = (sample * minutes) / SAMPLES;
    const startMs = performance.now();
    for (const [view, renderer] of renderers)
      series[view].push({ minute, ...(await lowestReading(renderer)) });
    const spentMs = performance.now() - startMs;
    if (sample < SAMPLES) await pause(Math.max(0, (minutes * 60_000) / SAMPLES - spentMs));
  }
  printSeries(series, minutes);
}

async function lowestReading(renderer: Renderer): Promise<Omit<Sample, 'minute'>> {
  const readings: Omit<Sample, 'minute'>[] = [];
  for (let reading = 0; reading < READINGS; reading++) {
    if (reading > 0) await pause(READING_PAUSE_MS);
    const { heap_bytes, nodes } = await renderer.memoryUse();
    readings.push({ heap_kb: heap_bytes / 1000, nodes });
  }
  return readings.reduce((low, each) => (each.heap_kb < low.heap_kb ? each : low));
}

function printSeries(series: Record<View, Sample[]>, minutes: number): void {
  const views = Object.keys(VIEWS) as View[];
  console.log(
    `\nMemory after a garbage collection, ${integerText(minutes * 3600)} events in ${minutes} minutes\n`,
  );
  const head = ['minute', ...views.flatMap((view) => [`${view}: heap KB`, 'nodes'])];
  const rows = series.fleet.map(({ minute }, index) => [
    minute.toFixed(1),
    ...views.flatMap((view) => {
      const sample = series[view][index] as Sample;
      return [integerText(sample.heap_kb), integerText(sample.nodes)];
    }),
  ]);
  console.log(table(head, rows));
  for (const view of views) {
    const settled = series[view].slice(SETTLED_FROM);
    const slope = slopeOf(settled.map(({ minute, heap_kb }) => [minute, heap_kb]));
    console.log(`${view}: ${slope.toFixed(1)} KB per minute from minute ${settled[0]?.minute.toFixed(1)} on`);
  }
}

/** The slope of the least-squares line through the points. */
function slopeOf(points: readonly (readonly [number, number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}
