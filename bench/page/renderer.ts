import type { CDPSession, Page } from 'playwright-core';

/** Milliseconds that the page's main thread has spent. */
export interface MainThreadTime {
  readonly task: number;
  readonly script: number;
  readonly layout: number;
}

/** Memory of a page after a garbage collection. */
interface PageMemory {
  readonly heap_bytes: number;
  readonly nodes: number;
}

/** Reads the performance counters that the browser keeps for a page. */
export class Renderer {
  private constructor(private readonly session: CDPSession) {}

  static async attachTo(page: Page): Promise<Renderer> {
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    await session.send('HeapProfiler.enable');
    return new Renderer(session);
  }

  async mainThreadTime(): Promise<MainThreadTime> {
    const { metrics } = await this.session.send('Performance.getMetrics');
    const read = (metric: string): number => 1000 * (metrics.find(({ name }) => name === metric)?.value ?? 0);
    return {
      task: read('TaskDuration'),
      script: read('ScriptDuration'),
      layout: read('LayoutDuration') + read('RecalcStyleDuration'),
    };
  }

  async memoryUse(): Promise<PageMemory> {
    await this.session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await this.session.send('Runtime.getHeapUsage');
    const { nodes } = await this.session.send('Memory.getDOMCounters');
    return { heap_bytes: usedSize, nodes };
  }
}
