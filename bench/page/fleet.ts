import { setTimeout as pause } from 'node:timers/promises';
import { BENCH_CHAINS, BENCH_TRACKS } from './project.js';

const PROJECT_PATH = '/api/tenants/bench/projects/page';
const RENEWALS = 3;
/** For one task in this many, a second agent also requests the claim and is refused. */
const STEPS_PER_REFUSAL = 4;
export const PAGE_QUERY = '?tenant=bench&project=page';

interface Handle {
  readonly task_id: string;
  readonly session_id: string;
  readonly generation: number;
  readonly claim_id: string;
}

/**
 * Fifty agents that claim, renew and submit the tasks of their chains, and reset them when all are done. Another agent
 * requests some of the held tasks and is refused. Every step is an event.
 */
export class BenchFleet {
  private readonly agents: AsyncGenerator<void>[];

  constructor(private readonly url: string) {
    this.agents = BENCH_CHAINS.map((chain, index) => this.workThroughChain(chain, index));
  }

  async putPlan(): Promise<void> {
    await this.send('PUT', '/plan', { tracks: BENCH_TRACKS });
  }

  /** Makes at most `perSecond` events per second until the signal is aborted; returns how many. */
  async playSteps(perSecond: number, signal: AbortSignal): Promise<number> {
    const startMs = performance.now();
    let count = 0;
    while (!signal.aborted) {
      await this.agents[count % this.agents.length]?.next();
      count += 1;
      const aheadMs = (count / perSecond) * 1000 - (performance.now() - startMs);
      if (aheadMs > 0) await pause(aheadMs, undefined, { signal }).catch(() => {});
    }
    return count;
  }

  /** Each step of the agent ends with a `yield`. */
  private async *workThroughChain(chain: readonly string[], index: number): AsyncGenerator<void> {
    const [agent_id, session_id] = [`agent-${index}`, `session-${index}`];
    for (;;) {
      const generations = new Map<string, number>();
      for (const [step, task_id] of chain.entries()) {
        const claimed = await this.send('POST', '/claims', { task_id, agent_id, session_id });
        const { claim } = claimed as { claim: { generation: number; id: string } };
        const handle: Handle = { task_id, session_id, generation: claim.generation, claim_id: claim.id };
        generations.set(task_id, claim.generation);
        yield;
        yield* this.renewAndContest(handle, step);
        await this.send('POST', '/results', { ...handle, result_data: { step, lines: 'x'.repeat(200) } });
        yield;
      }
      for (const [task_id, expected_generation] of [...generations].reverse()) {
        await this.send('POST', `/tasks/${task_id}/reset`, { reason: 'the next round', expected_generation });
        yield;
      }
    }
  }

  private async *renewAndContest(handle: Handle, step: number): AsyncGenerator<void> {
    const { generation: expected_generation, ...claim } = handle;
    for (let renewals = 0; renewals < RENEWALS; renewals++) {
      await this.send('POST', '/claims/renew', { ...claim, expected_generation });
      yield;
    }
    if (step % STEPS_PER_REFUSAL !== 0) return;
    await this.send('POST', '/claims', { task_id: handle.task_id, agent_id: 'late', session_id: 'late' });
    yield;
  }

  private async send(method: string, path: string, body: object): Promise<object> {
    const response = await fetch(`${this.url}${PROJECT_PATH}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    // A refusal is part of the load.
    if (!response.ok && response.status !== 409) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as object;
  }
}
