import { BATCH_JOBS, BATCHES_IN_FLIGHT } from '../queues/load.js';
import { inBatches, postOrThrow } from './batched.js';
import { Connection } from './connection.js';
import { type FlatOutAgent, runFlatOut, tasksFor } from './flat-out.js';
import { FleetReplies, type ReplyRecord } from './fleet-replies.js';
import type { LoadOptions } from './paced.js';
import { type BenchTask, uploadPlans } from './plan.js';

/** More tasks than one server can finish in a second. */
const TASKS_PER_SECOND = 8_000;

/** Claims a batch and submits its results, one batch after another, as the job queues are run in batches. */
export async function measureBatchedJobs(options: LoadOptions) {
  const tasks = await uploadPlans(options.url, tasksFor(options, TASKS_PER_SECOND));
  const replies = new FleetReplies();
  const agents = Array.from(
    { length: BATCHES_IN_FLIGHT },
    (_, index) => new BatchAgent(options.url, index, replies),
  );
  const measured = await runFlatOut(options, inBatches(tasks, BATCH_JOBS), agents, BATCH_JOBS);
  return { measured, replies };
}

class BatchAgent implements FlatOutAgent<readonly BenchTask[]> {
  private readonly connection: Connection;
  private claimed: { readonly path: string; readonly records: readonly ReplyRecord[] } | null = null;

  constructor(
    url: string,
    private readonly index: number,
    private readonly replies: FleetReplies,
  ) {
    this.connection = new Connection(url);
  }

  get nextOperation(): 'claim' | 'submit' {
    return this.claimed === null ? 'claim' : 'submit';
  }

  async claim(batch: readonly BenchTask[]): Promise<void> {
    const [{ path, project_id }] = batch as [BenchTask];
    const claims = batch.map(({ task_id }, at) => {
      const agent = this.index * BATCH_JOBS + at;
      return { task_id, agent_id: `agent-${agent}`, session_id: `session-${agent}` };
    });
    const { results } = await postOrThrow(this.connection, `${path}/claims/batch`, { claims });
    const granted = results.filter(({ success }: { success: boolean }) => success);
    const records = granted.map(({ claim }: { claim: ReplyRecord }) => ({ ...claim, project_id }));
    this.replies.granted.push(...records);
    this.replies.refused += results.length - records.length;
    this.claimed = { path, records };
  }

  async submit(): Promise<void> {
    const { path, records } = this.claimed!;
    this.claimed = null;
    const items = records.map(({ task_id, session_id, generation }) => ({
      ...{ task_id, session_id, generation },
      result_data: { summary: 'done', by: session_id },
    }));
    const { results } = await postOrThrow(this.connection, `${path}/results/batch`, { items });
    results.forEach(({ accepted }: { accepted: boolean }, at: number) => {
      if (accepted) this.replies.completed.push(records[at]!);
      else this.replies.refused += 1;
    });
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}
