import { pathToFileURL } from 'node:url';
import type { Genesis, GenesisOptions } from '../../../src/client/index.js';
import { runFlatOut, tasksFor } from './flat-out.js';
import { FleetReplies } from './fleet-replies.js';
import type { LoadOptions } from './paced.js';
import { BENCH_TENANT, type BenchTask, uploadPlans } from './plan.js';

/** More tasks than the agents can finish in a second. */
const TASKS_PER_SECOND = 12_000;

interface SdkLoadOptions extends LoadOptions {
  /** Folder of the compiled package. */
  readonly dist: string;
}

/**
 * The load of `runFlatOut`, sent through the client of the package: the agents of one process share requests.
 */
export async function measureSdk(options: SdkLoadOptions) {
  const { Genesis } = await import(pathToFileURL(`${options.dist}/client/index.js`).href);
  const clientByProject = new Map<string, Genesis>();
  const clientOf = (project: string): Genesis => {
    const existing = clientByProject.get(project);
    if (existing !== undefined) return existing;
    const client: Genesis = new Genesis({
      url: options.url,
      tenant: BENCH_TENANT,
      project,
    } as GenesisOptions);
    clientByProject.set(project, client);
    return client;
  };
  const tasks = await uploadPlans(options.url, tasksFor(options, TASKS_PER_SECOND));
  const replies = new FleetReplies();
  const agents = Array.from({ length: options.agents }, (_, index) => new SdkAgent(index, replies, clientOf));
  return { measured: await runFlatOut(options, tasks, agents), replies };
}

class SdkAgent {
  private claimed: {
    readonly task: BenchTask;
    readonly generation: number;
    readonly claim_id: string;
  } | null = null;
  private readonly session_id: string;

  constructor(
    private readonly index: number,
    private readonly replies: FleetReplies,
    private readonly clientOf: (project: string) => Genesis,
  ) {
    this.session_id = `session-${index}`;
  }

  get nextOperation(): 'claim' | 'submit' {
    return this.claimed === null ? 'claim' : 'submit';
  }

  async claim(task: BenchTask): Promise<void> {
    const { task_id, project_id } = task;
    const { session_id } = this;
    const agent_id = `agent-${this.index}`;
    const reply = await this.clientOf(project_id).claimTask({ task_id, agent_id, session_id });
    if (!('success' in reply)) this.replies.unanswered += 1;
    else if (!reply.success) this.replies.refused += 1;
    else {
      const { generation, id: claim_id } = reply.claim;
      this.claimed = { task, generation, claim_id };
      this.replies.granted.push({ project_id, task_id, session_id, generation });
    }
  }

  async submit(): Promise<void> {
    const { task, generation, claim_id } = this.claimed!;
    const { task_id, project_id } = task;
    const { session_id } = this;
    const result_data = { summary: 'done', by: this.index };
    this.claimed = null;
    const submission = { task_id, session_id, generation, claim_id, result_data };
    const reply = await this.clientOf(project_id).submitResult(submission);
    if (!('accepted' in reply)) this.replies.unanswered += 1;
    else if (reply.accepted) this.replies.completed.push({ project_id, task_id, session_id, generation });
    else this.replies.refused += 1;
  }

  async close(): Promise<void> {}
}
