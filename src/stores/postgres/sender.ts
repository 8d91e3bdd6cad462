import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable, StoreUncertain } from '../store.js';
import type { Connections } from './connections.js';
import { asStoreError, failureOf, wordsOf } from './errors.js';

/** How long a batch whose reply was lost is asked for again. */
const ASK_AGAIN_MS = 10_000;
/** How often the engine may take a batch back, for a deadlock or a lock it waited for too long. */
const TAKEN_BACK_MAX = 10;
const PAUSE_MS = { min: 20, max: 500 };

/**
 * Brings batches to the commit function. Each has an id under which the engine keeps its answer for a while, so that one
 * whose reply was lost is asked for again and takes effect once.
 */
export class Sender {
  private readonly text: string;

  constructor(
    private readonly connections: Connections,
    namespace: string,
  ) {
    const parameters = Array.from({ length: PARAMETERS }, (_, index) => `$${index + 1}`);
    this.text = `SELECT ${namespace}.commit_batch(${parameters.join()}) AS answer`;
  }

  async send(values: unknown[]): Promise<string> {
    const statement = { name: 'commit', text: this.text, values: [randomUUID(), ...values] };
    let lost_at_ms: number | null = null;
    for (let round = 0; ; round += 1) {
      let sent = false;
      try {
        return await this.connections.use(async (client) => {
          sent = true;
          return (await client.query<{ answer: string }>(statement)).rows[0]?.answer as string;
        });
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'lost' && sent) lost_at_ms ??= performance.now();
        if (lost_at_ms !== null) {
          if (failure === 'bug' || performance.now() - lost_at_ms > ASK_AGAIN_MS) throw uncertain(error);
        } else if (failure === 'lost') {
          throw new StoreUnavailable(`PostgreSQL cannot be reached: ${wordsOf(error)}`);
        } else if (failure !== 'again' || round >= TAKEN_BACK_MAX) {
          throw asStoreError(error);
        }
        await sleep(pauseMs(round));
      }
    }
  }
}

const PARAMETERS = 31;

const uncertain = (error: unknown): StoreUncertain =>
  new StoreUncertain(`The connection to PostgreSQL was lost in a commit: ${wordsOf(error)}`);

const pauseMs = (round: number): number =>
  Math.min(PAUSE_MS.max, PAUSE_MS.min * 2 ** round) * (0.5 + Math.random());
