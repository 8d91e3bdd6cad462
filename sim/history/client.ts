import { setTimeout as sleep } from 'node:timers/promises';
import { sha256Hex } from '../../src/coordinator/runtime/identity.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import type { Rng } from '../world/rng.js';
import { type CoordinatorEndpoint, resultData } from './coordinator-endpoint.js';
import type { CallRecorder, HistoryOperation, HistoryRequest, RecordedOutcome } from './history.js';
import type { TaskPool } from './task-pool.js';

const LEASE_SECONDS = 1;
const LEASE_MS = LEASE_SECONDS * 1000;
/** How many times a request is sent at most. The client may give up earlier (`GIVE_UP_CHANCE`). */
const ATTEMPTS_MAX = 12;
const GIVE_UP_CHANCE = 0.1;
/** Timeout for a reply; it grows with each attempt, since a slow machine may never meet a short timeout. */
const timeoutMs = (attempt: number): number => Math.min(2500 * 2 ** (attempt - 1), 60_000);
const SWITCH_CHANCE = 0.1;
const FORGET_CHANCE = 0.15;

/** How a holder ends its work; `outstay` acts after the lease has expired, as a zombie does. */
const ENDING_WEIGHTS = { release: 50, submit: 12, vanish: 13, outstay: 25 } as const;
const ZOMBIE_ENDING_WEIGHTS = { release: 5, submit: 5, vanish: 10, outstay: 80 } as const;

interface HistoryClientContext {
  readonly recorder: CallRecorder;
  readonly taskPool: TaskPool;
  readonly endpoints: readonly CoordinatorEndpoint[];
  readonly stop: AbortSignal;
}

interface HistoryHandle {
  readonly subject: string;
  readonly generation: number;
  readonly claim_id: string;
}

/** A deliberately bad agent: it claims what others hold, acts late, repeats requests and switches coordinators. */
export class HistoryClient {
  private endpointIndex: number;
  private requestCount = 0;

  constructor(
    private readonly context: HistoryClientContext,
    private readonly name: string,
    private readonly rng: Rng,
    private readonly isZombie: boolean,
  ) {
    this.endpointIndex = rng.int(context.endpoints.length);
  }

  async run(): Promise<void> {
    while (!this.context.stop.aborted) {
      const subject = this.context.taskPool.pick(this.rng);
      const outcome = await this.callUntilAnswered('claim', subject, null);
      if (outcome.kind === 'ok') await this.workOn(await this.maybeForget(handleFrom(subject, outcome)));
      await this.pause(this.rng.exponential(40));
    }
  }

  /** Sometimes forgets the handle, as a model may, and resumes its claim. By then the reply may be a new grant or a refusal. */
  private async maybeForget(handle: HistoryHandle): Promise<HistoryHandle> {
    if (!this.rng.chance(FORGET_CHANCE)) return handle;
    await this.pause(this.rng.between(0, LEASE_MS * 1.2));
    const outcome = await this.callUntilAnswered('claim', handle.subject, null, true);
    return outcome.kind === 'ok' ? handleFrom(handle.subject, outcome) : handle;
  }

  private async workOn(handle: HistoryHandle): Promise<void> {
    for (let renewals = this.rng.int(4); renewals > 0; renewals -= 1) {
      await this.pause(this.rng.between(0, LEASE_MS * 0.4));
      if ((await this.callUntilAnswered('renew', handle.subject, handle)).kind === 'refused') break;
    }
    const ending = this.rng.weighted(this.isZombie ? ZOMBIE_ENDING_WEIGHTS : ENDING_WEIGHTS);
    if (ending === 'vanish') return;
    if (ending !== 'outstay') {
      await this.pause(this.rng.between(0, LEASE_MS * 0.3));
      await this.callUntilAnswered(ending, handle.subject, handle);
      return;
    }
    await this.pause(this.rng.between(LEASE_MS * 0.9, LEASE_MS * 2.2));
    const operations: HistoryOperation[] = ['renew', 'submit', 'release'];
    for (let remaining = 1 + this.rng.int(2); remaining > 0; remaining -= 1) {
      await this.callUntilAnswered(this.rng.pick(operations), handle.subject, handle);
    }
  }

  /** Retries with one request id until the outcome is known, the client gives up, or the run ends. */
  private async callUntilAnswered(
    operation: HistoryOperation,
    subject: string,
    handle: HistoryHandle | null,
    resume = false,
  ): Promise<RecordedOutcome> {
    const request = { ...this.buildRequest(operation, subject, handle), ...(resume ? { resume } : {}) };
    for (let attempt = 1; ; attempt += 1) {
      if (this.rng.chance(SWITCH_CHANCE)) this.switchEndpoint();
      const endpoint = this.context.endpoints[this.endpointIndex] as CoordinatorEndpoint;
      const outcome = await this.context.recorder.call(request, endpoint.name, () =>
        endpoint.call(request, timeoutMs(attempt)),
      );
      if (outcome.kind === 'ok' || outcome.kind === 'refused') {
        this.context.taskPool.recordOutcome(request, outcome);
        return outcome;
      }
      const isGivingUp = attempt === ATTEMPTS_MAX || this.rng.chance(GIVE_UP_CHANCE);
      if (isGivingUp || this.context.stop.aborted) return outcome;
      this.switchEndpoint();
      await this.pause(this.rng.between(20, 100 * attempt));
    }
  }

  private buildRequest(
    operation: HistoryOperation,
    subject: string,
    handle: HistoryHandle | null,
  ): HistoryRequest {
    this.requestCount += 1;
    const request_id = `${this.name}-${this.requestCount}`;
    const hasLease = operation === 'claim' || operation === 'renew';
    return {
      operation,
      request_id,
      subject,
      agent_id: this.name,
      session_id: `session-${this.name}`,
      generation: handle?.generation ?? null,
      claim_id: handle?.claim_id ?? null,
      lease_seconds: hasLease ? LEASE_SECONDS : null,
      sha256: operation === 'submit' ? sha256Hex(canonicalJson(resultData(request_id))) : null,
    };
  }

  private switchEndpoint(): void {
    this.endpointIndex = this.rng.int(this.context.endpoints.length);
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.context.stop }).catch(() => {});
  }
}

function handleFrom(subject: string, outcome: RecordedOutcome & { kind: 'ok' }): HistoryHandle {
  const { generation = 0, claim_id = '' } = outcome.reply_fields;
  return { subject, generation, claim_id };
}
