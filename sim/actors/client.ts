import { isProblem } from '../../src/coordinator/index.js';
import { unauthorizedProblem } from '../../src/coordinator/wire/problem.js';
import type { CallHistory, CommandRecord } from '../checks/call-history.js';
import type { CoverageCounter } from '../checks/coverage.js';
import type { SimFleet } from '../fleet/coordinator-instance.js';
import type { Network } from '../world/network.js';
import type { SimProcess } from '../world/process.js';
import type { Rng } from '../world/rng.js';
import type { SimCommand } from './commands.js';

/** The final reply; `unknown` if every attempt got no reply in time, or one that is to be retried (UNKNOWN, UNAVAILABLE). */
export type CallOutcome = SimReply | { readonly kind: 'unknown' };

interface SimReply {
  readonly kind: 'reply';
  readonly reply: unknown;
  /** Incarnation of the store when the coordinator answered. The store may have a newer one when the reply arrives. */
  readonly incarnation: number;
}

const ATTEMPTS_MAX = 5;
const UNKNOWN: CallOutcome = { kind: 'unknown' };

export interface SimClientContext {
  readonly network: Network;
  readonly fleet: SimFleet;
  readonly history: CallHistory;
  readonly coverage: CoverageCounter;
}

/** Sends a command to the fleet, waits, and retries with the same request. */
export class SimClient {
  constructor(
    private readonly process: SimProcess,
    private readonly context: SimClientContext,
    private readonly rng: Rng,
  ) {}

  async call(command: SimCommand): Promise<CallOutcome> {
    const record = this.context.history.invoke(command);
    const attempts = 1 + this.rng.int(ATTEMPTS_MAX);
    let hasSeenUnknown = false;
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const outcome = await this.attempt(record);
      if (outcome.kind === 'reply' && !isRetryable(outcome.reply)) {
        if (hasSeenUnknown) this.context.coverage.hit('unknown retried');
        return outcome;
      }
      hasSeenUnknown = hasSeenUnknown || outcome.kind === 'unknown' || isUnknown(outcome.reply);
      await this.process.sleep(this.rng.between(10, 2000), 'waits before it tries again');
    }
    return UNKNOWN;
  }

  private attempt(record: CommandRecord): Promise<CallOutcome> {
    return new Promise((resolve) => {
      const timeoutMs = this.rng.between(1_000, 25_000);
      const stopWaiting = this.process.runAfter(timeoutMs, 'gives up waiting', () => resolve(UNKNOWN));
      this.send(record, (reply) => {
        stopWaiting();
        resolve(reply);
      });
    });
  }

  private send(record: CommandRecord, onReply: (reply: SimReply) => void): void {
    const { fleet, network, history, coverage } = this.context;
    const index = this.rng.int(fleet.size);
    const to = fleet.instanceAt(index)?.process;
    if (to === undefined) return;
    const { command } = record;
    const agent = this.process.name;
    network.send({ agent, to }, command.request_id, () => {
      const instance = fleet.instanceAt(index);
      if (instance?.process !== to) return;
      const delivery = history.beginDelivery(record);
      const wasAuthorized = command.credential.isValidAt(to);
      const replying = wasAuthorized ? command.send(instance) : refuseUnauthenticated();
      replying.then(
        (reply) => {
          history.recordReply(record, delivery, reply);
          if (isRevoked(reply) && wasAuthorized && command.op === 'next')
            coverage.hit('revoked while waiting');
          const { incarnation } = fleet;
          network.send({ agent, to: this.process }, `reply to ${command.request_id}`, () =>
            onReply({ kind: 'reply', reply, incarnation }),
          );
        },
        (error) => history.recordException(record, delivery, error),
      );
    });
  }
}

/** The server's reply to a revoked credential. The request does not reach the coordinator. */
const refuseUnauthenticated = async (): Promise<unknown> => unauthorizedProblem();

export const isRevoked = (reply: unknown): boolean => isProblem(reply) && reply.problem === 'UNAUTHENTICATED';
const isUnknown = (reply: unknown): boolean => isProblem(reply) && reply.problem === 'UNKNOWN';
const isRetryable = (reply: unknown): boolean =>
  isUnknown(reply) || (isProblem(reply) && reply.problem === 'UNAVAILABLE');
