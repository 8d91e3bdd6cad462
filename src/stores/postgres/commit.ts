import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable, StoreUncertain } from '../store.js';
import type { PostgresPool } from './connection.js';
import { classifyError, errorMessageOf, toStoreError } from './errors.js';

/** How long a batch whose reply was lost is retried. */
const RETRY_MS = 10_000;
/** Maximum number of retries after the engine rolled a batch back, for a deadlock or a lock timeout. */
const ROLLBACK_RETRIES_MAX = 10;
const PAUSE_MS = { min: 20, max: 500 };

/**
 * Sends batches to the commit function. The engine keeps the reply of each under its id for a while, so a batch whose
 * reply was lost can be retried and takes effect once.
 */
export class PostgresCommitter {
  private readonly text: string;

  constructor(
    private readonly connections: PostgresPool,
    namespace: string,
  ) {
    const parameters = Array.from({ length: PARAMETERS }, (_, index) => `$${index + 1}`);
    this.text = `SELECT ${namespace}.commit_batch(${parameters.join()}) AS answer`;
  }

  async send(values: unknown[]): Promise<string> {
    const statement = { name: 'commit', text: this.text, values: [randomUUID(), ...values] };
    let lostAtMs: number | null = null;
    for (let round = 0; ; round += 1) {
      let isSent = false;
      try {
        return await this.connections.withClient(async (client) => {
          isSent = true;
          return (await client.query<{ answer: string }>(statement)).rows[0]?.answer as string;
        });
      } catch (error) {
        const failure = classifyError(error);
        if (failure === 'lost' && isSent) lostAtMs ??= performance.now();
        if (lostAtMs !== null) {
          if (failure === 'bug' || performance.now() - lostAtMs > RETRY_MS) throw uncertainError(error);
        } else if (failure === 'lost') {
          throw new StoreUnavailable(`PostgreSQL cannot be reached: ${errorMessageOf(error)}`);
        } else if (failure !== 'again' || round >= ROLLBACK_RETRIES_MAX) {
          throw toStoreError(error);
        }
        await sleep(pauseMs(round));
      }
    }
  }
}

const PARAMETERS = 31;

const uncertainError = (error: unknown): StoreUncertain =>
  new StoreUncertain(`The connection to PostgreSQL was lost in a commit: ${errorMessageOf(error)}`);

const pauseMs = (round: number): number =>
  Math.min(PAUSE_MS.max, PAUSE_MS.min * 2 ** round) * (0.5 + Math.random());
