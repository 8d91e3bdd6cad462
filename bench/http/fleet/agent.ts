import { Connection } from './connection.js';
import type { FleetReplies, ReplyRecord } from './fleet-replies.js';
import type { BenchTask } from './plan.js';

export type AgentOperation = 'claim' | 'renew' | 'submit';

/** One agent with one connection: claims, renews once if asked to, submits, and takes the next task. */
export class BenchAgent {
  private readonly connection: Connection;
  private readonly sessionId: string;
  private claimed: {
    readonly task: BenchTask;
    readonly generation: number;
    readonly claim_id: string;
  } | null = null;
  private hasRenewed = false;

  constructor(
    url: string,
    private readonly index: number,
    private readonly replies: FleetReplies,
    private readonly shouldRenew: boolean,
    token?: string,
  ) {
    this.connection = new Connection(url, token);
    this.sessionId = `session-${index}`;
  }

  get nextOperation(): AgentOperation {
    if (this.claimed === null) return 'claim';
    return this.shouldRenew && !this.hasRenewed ? 'renew' : 'submit';
  }

  async claim(task: BenchTask): Promise<void> {
    const { task_id } = task;
    const body = { task_id, agent_id: `agent-${this.index}`, session_id: this.sessionId };
    const reply = await this.post(`${task.path}/claims`, body);
    if (reply === null) return;
    if (reply.success !== true) {
      this.replies.refused += 1;
      return;
    }
    const { generation, id: claim_id } = reply.claim;
    this.claimed = { task, generation, claim_id };
    this.hasRenewed = false;
    this.replies.granted.push(this.replyRecord(task, generation));
  }

  async renew(): Promise<void> {
    const { task, generation, claim_id } = this.claimed!;
    const { sessionId: session_id } = this;
    const body = { task_id: task.task_id, session_id, expected_generation: generation, claim_id };
    const reply = await this.post(`${task.path}/claims/renew`, body);
    if (reply !== null && reply.success !== true) this.replies.refused += 1;
    this.hasRenewed = true;
  }

  async submit(): Promise<void> {
    const { task, generation, claim_id } = this.claimed!;
    const { sessionId: session_id } = this;
    const result_data = { summary: 'done', by: this.index };
    const body = { task_id: task.task_id, session_id, generation, claim_id, result_data };
    const reply = await this.post(`${task.path}/results`, body);
    this.claimed = null;
    if (reply === null) return;
    if (reply.accepted === true) this.replies.completed.push(this.replyRecord(task, generation));
    else this.replies.refused += 1;
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private replyRecord({ project_id, task_id }: BenchTask, generation: number): ReplyRecord {
    return { project_id, task_id, session_id: this.sessionId, generation };
  }

  private async post(path: string, body: object) {
    try {
      return (await this.connection.post(path, { ...body, request_id: crypto.randomUUID() })).body;
    } catch (error) {
      if (this.replies.unanswered === 0) console.error(error);
      this.replies.unanswered += 1;
      return null;
    }
  }
}
