import { type Caller, type ClaimResult, OPEN_CALLER, type Problem } from '../../src/coordinator/index.js';
import type {
  GateResult,
  NoteResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../src/core/contract/claim-replies.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { type CoordinatorHarness, PROJECT_KEY, unwrap } from './coordinator-harness.js';

interface TestHandle {
  readonly task_id: string;
  readonly session_id: string;
  readonly generation: number;
  readonly claim_id: string;
}

type KeyOf<Union> = Union extends unknown ? keyof Union : never;
type FieldOf<Union, Key> = Union extends unknown ? (Key extends keyof Union ? Union[Key] : undefined) : never;
/** A reply whose fields a test can read without first narrowing the union to one reply. */
type AllFields<Union> = { readonly [Key in KeyOf<Union>]: FieldOf<Union, Key> };

/** An agent in a session. For each task it remembers the handle of its last grant, even if that has expired. */
export class HarnessAgent {
  private readonly handles = new Map<string, TestHandle>();
  private readonly caller: Caller;

  constructor(
    private readonly harness: CoordinatorHarness,
    readonly agent_id: string,
    readonly session_id: string,
    user_id: string | null = null,
    private readonly projectKey: ProjectKey = PROJECT_KEY,
  ) {
    this.caller = { ...OPEN_CALLER, user_id };
  }

  async claim(taskId: string, extraFields: Record<string, unknown> = {}): Promise<AllFields<ClaimResult>> {
    const reply = unwrap(await this.tryClaim(taskId, extraFields));
    this.remember(reply);
    return reply as AllFields<ClaimResult>;
  }

  tryClaim(task_id: string, extraFields: Record<string, unknown> = {}): Promise<ClaimResult | Problem> {
    const { agent_id, session_id } = this;
    return this.harness.coordinator.claims.claimTask(
      this.projectKey,
      { task_id, agent_id, session_id, ...extraFields },
      this.caller,
    );
  }

  async claimBatch(
    taskIds: readonly string[],
    extraFields: Record<string, unknown> = {},
    mode: 'partial' | 'all_or_nothing' = 'partial',
  ): Promise<ClaimResult[]> {
    const { agent_id, session_id } = this;
    const claims = taskIds.map((task_id) => ({ task_id, agent_id, session_id, ...extraFields }));
    const { results } = unwrap(
      await this.harness.coordinator.claims.batchClaim(this.projectKey, { claims, mode }, this.caller),
    );
    return results.map((reply) => {
      this.remember(unwrap(reply));
      return unwrap(reply);
    });
  }

  async next(extraFields: Record<string, unknown> = {}): Promise<AllFields<ClaimResult>> {
    const { agent_id, session_id } = this;
    const reply = unwrap(
      await this.harness.coordinator.claims.next(
        this.projectKey,
        { agent_id, session_id, ...extraFields },
        this.caller,
      ),
    );
    this.remember(reply);
    return reply as AllFields<ClaimResult>;
  }

  async renew(taskId: string, extraFields: Record<string, unknown> = {}): Promise<RenewalResult> {
    const body = { ...this.expectedHandle(taskId), ...extraFields };
    return unwrap(await this.harness.coordinator.holder.renewLease(this.projectKey, body, this.caller));
  }

  async release(taskId: string, extraFields: Record<string, unknown> = {}): Promise<ReleaseResult> {
    const body = { ...this.expectedHandle(taskId), ...extraFields };
    return unwrap(await this.harness.coordinator.holder.releaseClaim(this.projectKey, body, this.caller));
  }

  async submit(
    taskId: string,
    result_data: unknown = { by: this.agent_id },
    extraFields: Record<string, unknown> = {},
  ): Promise<AllFields<SubmissionResult>> {
    const body = { ...this.handle(taskId), result_data, ...extraFields };
    const reply = unwrap(
      await this.harness.coordinator.holder.submitResult(this.projectKey, body, this.caller),
    );
    return reply as AllFields<SubmissionResult>;
  }

  async suspends(taskId: string, extraFields: Record<string, unknown> = {}): Promise<GateResult> {
    const body = { ...this.expectedHandle(taskId), ...extraFields };
    return unwrap(await this.harness.coordinator.holder.suspendClaim(this.projectKey, body, this.caller));
  }

  async resumes(taskId: string): Promise<GateResult> {
    return unwrap(
      await this.harness.coordinator.holder.resumeClaim(
        this.projectKey,
        this.expectedHandle(taskId),
        this.caller,
      ),
    );
  }

  async notes(taskId: string, text: string): Promise<NoteResult> {
    return unwrap(
      await this.harness.coordinator.holder.note(
        this.projectKey,
        { ...this.handle(taskId), text },
        this.caller,
      ),
    );
  }

  /** The handle of the last grant, in the form for submit and note. */
  handle(taskId: string): TestHandle {
    const handle = this.handles.get(taskId);
    if (handle === undefined) throw new Error(`${this.agent_id} was never granted ${taskId}`);
    return handle;
  }

  /** The same handle, in the form for the other commands of a holder. */
  expectedHandle(taskId: string) {
    const { generation, ...rest } = this.handle(taskId);
    return { ...rest, expected_generation: generation };
  }

  private remember({ claim }: ClaimResult): void {
    if (claim === null) return;
    const { task_id, session_id, generation, id = '' } = claim;
    this.handles.set(task_id, { task_id, session_id, generation, claim_id: id });
  }
}

/** A person as caller, with a name, as the server would authenticate them. */
export const personCaller = (user_id: string): Caller => ({ ...OPEN_CALLER, user_id });
