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
import { LAYOUT, type RedisScript, readScript } from './script.js';
import { WholeBatch, wholeOutcomes } from './whole-batch.js';

const CONSTANTS = {
  ...OUTCOME_CODE,
  /** How long the outcomes of a batch are kept for a client that retries after a lost connection. */
  BATCH_KEPT_MS: 300_000,
  REQUEST_WINDOW_MS,
  REQUESTS_MAX,
};
const WHOLE_SCRIPT = readScript(new URL('./commit-whole.lua', import.meta.url), CONSTANTS, [LAYOUT]);
const COMMIT_SCRIPT = readScript(new URL('./commit.lua', import.meta.url), CONSTANTS, [LAYOUT]);
/** The reply to a batch that must be decided transaction by transaction. */
const NOT_WHOLE = 0;

/** Sends batches to the commit scripts so that each takes effect once, however often it has to be retried. */
export class RedisCommitter {
  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: RedisKeys,
    /** The replication id that the server must still have; empty: any. */
    private readonly lineage: () => string,
  ) {}

  /**
   * Commits adjacent transactions of one project together: usually all of them, with one script. A second script decides
   * those that the first cannot commit as a whole.
   */
  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    for (const transaction of transactions) assertWellFormed(transaction);
    const outcomes: CommitOutcome[][] = [];
    for (const batch of byProject(transactions)) {
      try {
        outcomes.push(await this.commitProject(batch));
      } catch (error) {
        const isPartial = outcomes.length > 0 && error instanceof StoreUnavailable;
        throw isPartial ? new StoreUncertain(error.message) : error;
      }
    }
    return outcomes.length === 1 ? (outcomes[0] as CommitOutcome[]) : outcomes.flat();
  }

  private async commitProject(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const [first] = transactions as [Transaction];
    const keys = [
      this.keys.tenant(first.tenant_id),
      this.keys.project(first),
      this.keys.batch(first.tenant_id, randomUUID()),
    ];
    const batch = new WholeBatch();
    if (transactions.every((transaction) => batch.add(transaction))) {
      const reply = await this.send(WHOLE_SCRIPT, keys, batch.finish(this.lineage(), first.project_id));
      if (reply !== NOT_WHOLE) return wholeOutcomes(reply, transactions);
    }
    const args = encodeBatch(transactions, this.lineage(), first.project_id);
    return decodeOutcomes(await this.send(COMMIT_SCRIPT, keys, args), transactions);
  }

  private send(script: RedisScript, keys: readonly string[], args: (string | Buffer)[]): Promise<unknown> {
    return sendOnce('Redis', () => this.connection.runOnce(script, keys, args), {
      isReplyLost: (error) => error instanceof ReplyLost,
      isRetryable: () => false,
      toStoreError: (error) => error,
    });
  }
}

/** Splits transactions where the project changes, so that their order stays the same. */
function byProject(transactions: readonly Transaction[]): Transaction[][] {
  const batches: Transaction[][] = [];
  let last: Transaction | null = null;
  for (const transaction of transactions) {
    const isSameProject =
      last !== null && last.project_id === transaction.project_id && last.tenant_id === transaction.tenant_id;
    if (isSameProject) (batches.at(-1) as Transaction[]).push(transaction);
    else batches.push([transaction]);
    last = transaction;
  }
  return batches;
}
