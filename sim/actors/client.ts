import { isProblem } from '../../src/coordinator/index.js';
import { noLongerAuthorized } from '../../src/coordinator/problem.js';
import type { CommandRecord, History } from '../checks/history.js';
import type { Reached } from '../checks/sometimes.js';
import type { Fleet } from '../fleet/site.js';
import type { Network } from '../world/network.js';
import type { Process } from '../world/process.js';
import type { Rng } from '../world/rng.js';
import type { Command } from './commands.js';

/** The reply, or `unknown` when the client gave up waiting for one. */
export type Answer = { readonly kind: 'reply'; readonly reply: unknown } | { readonly kind: 'unknown' };

const ATTEMPTS_MAX = 5;
const UNKNOWN: Answer = { kind: 'unknown' };

export interface ClientWorld {
  readonly network: Network;
  readonly fleet: Fleet;
  readonly history: History;
  readonly reached: Reached;
}

/** How an agent speaks to the fleet: it sends, waits, and sends the same again. */
export class Client {
  constructor(
    private readonly process: Process,
    private readonly world: ClientWorld,
    private readonly rng: Rng,
  ) {}

  async call(command: Command): Promise<Answer> {
    const record = this.world.history.invoke(command);
    const attempts = 1 + this.rng.int(ATTEMPTS_MAX);
    let doubted = false;
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const answer = await this.attempt(record);
      if (answer.kind === 'reply' && !isDoubtful(answer.reply)) {
        if (doubted) this.world.reached.hit('unknown retried');
        return answer;
      }
      doubted = doubted || answer.kind === 'unknown' || isUnknown(answer.reply);
      await this.process.sleep(this.rng.between(10, 2000), 'waits before it tries again');
    }
    return UNKNOWN;
  }

  private attempt(record: CommandRecord): Promise<Answer> {
    return new Promise((resolve) => {
      const patience_ms = this.rng.between(1_000, 25_000);
      const stopWaiting = this.process.after(patience_ms, 'gives up waiting', () => resolve(UNKNOWN));
      this.send(record, (reply) => {
        stopWaiting();
        resolve({ kind: 'reply', reply });
      });
    });
  }

  private send(record: CommandRecord, onReply: (reply: unknown) => void): void {
    const { fleet, network, history, reached } = this.world;
    const number = this.rng.int(fleet.size);
    const to = fleet.site(number)?.process;
    if (to === undefined) return;
    const { command } = record;
    const agent = this.process.name;
    network.send({ agent, to }, command.request_id, () => {
      const site = fleet.site(number);
      if (site?.process !== to) return;
      const delivery = history.begin(record);
      const wasLetIn = command.credential.isValidAt(to);
      const answer = wasLetIn ? command.send(site) : refusedAtTheDoor();
      answer.then(
        (reply) => {
          history.answered(record, delivery, reply);
          if (isRevoked(reply) && wasLetIn && command.op === 'next') reached.hit('revoked while waiting');
          network.send({ agent, to: this.process }, `reply to ${command.request_id}`, () => onReply(reply));
        },
        (error) => history.threw(record, delivery, error),
      );
    });
  }
}

/** As the server answers a credential that it knows to be revoked: the coordinator hears nothing of it. */
const refusedAtTheDoor = async (): Promise<unknown> => noLongerAuthorized();

export const isRevoked = (reply: unknown): boolean => isProblem(reply) && reply.problem === 'UNAUTHENTICATED';
const isUnknown = (reply: unknown): boolean => isProblem(reply) && reply.problem === 'UNKNOWN';
const isDoubtful = (reply: unknown): boolean =>
  isUnknown(reply) || (isProblem(reply) && reply.problem === 'UNAVAILABLE');
