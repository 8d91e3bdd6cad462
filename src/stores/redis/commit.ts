import { randomUUID } from 'node:crypto';
import { sendOnce } from '../send-once.js';
import {
  type CommitOutcome,
  REQUEST_WINDOW_MS,
  REQUESTS_MAX,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
} from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { decodeOutcomes, encodeBatch, OUTCOME_CODE } from './batch.js';
import type { RedisConnection } from './connection.js';
import { ReplyLost } from './errors.js';
import type { RedisKeys } from './keys.js';
import { readScript } from './script.js';

const COMMIT_SCRIPT = readScript(new URL('./commit.lua', import.meta.url), {
  ...OUTCOME_CODE,
  /** How long the outcomes of a batch are kept for a client that retries after a lost connection. */
  BATCH_KEPT_MS: 300_000,
  REQUEST_WINDOW_MS,
  REQUESTS_MAX,
});

/** Sends batches to the commit script so that each takes effect once, however often it has to be retried. */
export class RedisCommitter {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    /** The replication id that the server must still have; empty: any. */
    private readonly lineage: () => string,
  ) {}

  /** One script per tenant, since their keys may be on different nodes; usually there is only one. */
  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    for (const transaction of transactions) assertWellFormed(transaction);
    const parts = new Map<string, CommitOutcome[]>();
    for (const tenantId of new Set(transactions.map(({ tenant_id }) => tenant_id))) {
      const own = transactions.filter(({ tenant_id }) => tenant_id === tenantId);
      try {
        parts.set(tenantId, await this.commitTenant(tenantId, own));
      } catch (error) {
        const isPartial = parts.size > 0 && error instanceof StoreUnavailable;
        throw isPartial ? new StoreUncertain(error.message) : error;
      }
    }
    return transactions.map(({ tenant_id }) => parts.get(tenant_id)?.shift() as CommitOutcome);
  }

  private async commitTenant(
    tenantId: string,
    transactions: readonly Transaction[],
  ): Promise<CommitOutcome[]> {
    const keys = [this.keys.tenant(tenantId), this.keys.batch(tenantId, randomUUID())];
    const args = encodeBatch(this.keys, transactions, this.lineage());
    const reply = await sendOnce('Redis', () => this.connection.runOnce(COMMIT_SCRIPT, keys, args), {
      isReplyLost: (error) => error instanceof ReplyLost,
      isRetryable: () => false,
      toStoreError: (error) => error,
    });
    return decodeOutcomes(reply, transactions);
  }
}
