import { Connection } from './connection.js';
import type { Told, Word } from './fleet-replies.js';
import type { Task } from './plan.js';

export type Operation = 'claim' | 'renew' | 'submit';

/** One agent with one connection: claims, renews once if asked to, submits, and takes the next task. */
export class Agent {
  private readonly connection: Connection;
  private readonly session_id: string;
  private held: { readonly task: Task; readonly generation: number; readonly claim_id: string } | null = null;
  private renewed = false;

  constructor(
    url: string,
    private readonly number: number,
    private readonly told: Told,
    private readonly renews: boolean,
  ) {
    this.connection = new Connection(url);
    this.session_id = `session-${number}`;
  }

  get next(): Operation {
    if (this.held === null) return 'claim';
    return this.renews && !this.renewed ? 'renew' : 'submit';
  }

  async claim(task: Task): Promise<void> {
    const { task_id } = task;
    const body = { task_id, agent_id: `agent-${this.number}`, session_id: this.session_id };
    const reply = await this.ask(`${task.path}/claims`, body);
    if (reply === null) return;
    if (reply.success !== true) {
      this.told.refused += 1;
      return;
    }
    const { generation, id: claim_id } = reply.claim;
    this.held = { task, generation, claim_id };
    this.renewed = false;
    this.told.granted.push(this.word(task, generation));
  }

  async renew(): Promise<void> {
    const { task, generation, claim_id } = this.held!;
    const { session_id } = this;
    const body = { task_id: task.task_id, session_id, expected_generation: generation, claim_id };
    const reply = await this.ask(`${task.path}/claims/renew`, body);
    if (reply !== null && reply.success !== true) this.told.refused += 1;
    this.renewed = true;
  }

  async submit(): Promise<void> {
    const { task, generation, claim_id } = this.held!;
    const { session_id } = this;
    const result_data = { summary: 'done', by: this.number };
    const body = { task_id: task.task_id, session_id, generation, claim_id, result_data };
    const reply = await this.ask(`${task.path}/results`, body);
    this.held = null;
    if (reply === null) return;
    if (reply.accepted === true) this.told.completed.push(this.word(task, generation));
    else this.told.refused += 1;
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  private word({ project_id, task_id }: Task, generation: number): Word {
    return { project_id, task_id, session_id: this.session_id, generation };
  }

  private async ask(path: string, body: object) {
    try {
      return (await this.connection.post(path, { ...body, request_id: crypto.randomUUID() })).body;
    } catch (error) {
      if (this.told.unanswered === 0) console.error(error);
      this.told.unanswered += 1;
      return null;
    }
  }
}
