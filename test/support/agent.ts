import { type Caller, type ClaimResult, OPEN_CALLER, type Problem } from '../../src/coordinator/index.js';
import type {
  GateResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../src/coordinator/wire.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { answered, type House, P } from './house.js';

interface Handle {
  readonly task_id: string;
  readonly session_id: string;
  readonly generation: number;
  readonly claim_id: string;
}

/** An agent in a session, who remembers the handles it was granted, also when they are no longer worth anything. */
export class Agent {
  private readonly handles = new Map<string, Handle>();
  private readonly caller: Caller;

  constructor(
    private readonly house: House,
    readonly agent_id: string,
    readonly session_id: string,
    user_id: string | null = null,
    private readonly scope: ProjectKey = P,
  ) {
    this.caller = { ...OPEN_CALLER, user_id };
  }

  async claims(task_id: string, more: Record<string, unknown> = {}): Promise<ClaimResult> {
    const reply = answered(await this.tries(task_id, more));
    this.remember(reply);
    return reply;
  }

  tries(task_id: string, more: Record<string, unknown> = {}): Promise<ClaimResult | Problem> {
    const { agent_id, session_id } = this;
    return this.house.coordinator.claimTask(
      this.scope,
      { task_id, agent_id, session_id, ...more },
      this.caller,
    );
  }

  async claimsBatch(
    task_ids: readonly string[],
    more: Record<string, unknown> = {},
    mode: 'partial' | 'all_or_nothing' = 'partial',
  ): Promise<ClaimResult[]> {
    const { agent_id, session_id } = this;
    const claims = task_ids.map((task_id) => ({ task_id, agent_id, session_id, ...more }));
    const { results } = answered(
      await this.house.coordinator.batchClaim(this.scope, { claims, mode }, this.caller),
    );
    return results.map((reply) => {
      this.remember(answered(reply));
      return answered(reply);
    });
  }

  async next(more: Record<string, unknown> = {}): Promise<ClaimResult> {
    const { agent_id, session_id } = this;
    const reply = answered(
      await this.house.coordinator.next(this.scope, { agent_id, session_id, ...more }, this.caller),
    );
    this.remember(reply);
    return reply;
  }

  async renews(task_id: string, more: Record<string, unknown> = {}): Promise<RenewalResult> {
    const body = { ...this.expecting(task_id), ...more };
    return answered(await this.house.coordinator.renewLease(this.scope, body, this.caller));
  }

  async releases(task_id: string, more: Record<string, unknown> = {}): Promise<ReleaseResult> {
    const body = { ...this.expecting(task_id), ...more };
    return answered(await this.house.coordinator.releaseClaim(this.scope, body, this.caller));
  }

  async submits(
    task_id: string,
    result_data: unknown = { by: this.agent_id },
    more: Record<string, unknown> = {},
  ): Promise<SubmissionResult> {
    const body = { ...this.handle(task_id), result_data, ...more };
    return answered(await this.house.coordinator.submitResult(this.scope, body, this.caller));
  }

  async suspends(task_id: string, more: Record<string, unknown> = {}): Promise<GateResult> {
    const body = { ...this.expecting(task_id), ...more };
    return answered(await this.house.coordinator.suspendClaim(this.scope, body, this.caller));
  }

  async resumes(task_id: string): Promise<GateResult> {
    return answered(
      await this.house.coordinator.resumeClaim(this.scope, this.expecting(task_id), this.caller),
    );
  }

  async notes(task_id: string, text: string): Promise<ReleaseResult> {
    return answered(
      await this.house.coordinator.note(this.scope, { ...this.handle(task_id), text }, this.caller),
    );
  }

  /** The handle of the last grant, as submit and note want it. */
  handle(task_id: string): Handle {
    const handle = this.handles.get(task_id);
    if (handle === undefined) throw new Error(`${this.agent_id} was never granted ${task_id}`);
    return handle;
  }

  /** The same, as renew and release want it. */
  expecting(task_id: string) {
    const { generation, ...rest } = this.handle(task_id);
    return { ...rest, expected_generation: generation };
  }

  private remember({ claim }: ClaimResult): void {
    if (claim === null) return;
    const { task_id, session_id, generation, id = '' } = claim;
    this.handles.set(task_id, { task_id, session_id, generation, claim_id: id });
  }
}

/** A human with a name, as the door would let them in. */
export const human = (user_id: string): Caller => ({ ...OPEN_CALLER, user_id });
