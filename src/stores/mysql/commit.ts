import { randomBytes } from 'node:crypto';
import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { sendOnce } from '../send-once.js';
import { type CommitOutcome, StoreUncertain, type Transaction } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import {
  type BatchValue,
  decodeGroup,
  encodeGroups,
  type GroupRow,
  groupsOf,
  type RefusalRow,
  type TransactionGroup,
} from './batch.js';
import { encodeCommon } from './common-batch.js';
import { withConnection } from './connection.js';
import { classifyError, toStoreError } from './errors.js';
import type { MysqlOptions } from './options.js';
import { sql } from './queries.js';

/** How long an outcome is kept for a retry; far longer than any retry takes. */
const KEEP_MS = 5 * 60_000;
const PRUNE_EVERY_MS = 60_000;
const PRUNED_AT_ONCE = 10_000;

const UTF8_BYTES_PER_UNIT_MAX = 3;
const ENVELOPE_BYTES = 1024;

/** Sends batches to the server so that each takes effect once, however often it has to be retried. */
export class MysqlCommitter {
  private readonly pruneTimer: NodeJS.Timeout;

  constructor(
    private readonly pool: Pool,
    private readonly options: MysqlOptions,
    private readonly packetBytesMax: number,
  ) {
    this.pruneTimer = setInterval(() => void this.prune(), PRUNE_EVERY_MS * (0.5 + Math.random()));
    this.pruneTimer.unref();
  }

  /** The size of the largest transaction. A larger one may not fit into one packet, and cannot be split. */
  get transactionBytesMax(): number {
    return Math.floor(this.packetBytesMax / UTF8_BYTES_PER_UNIT_MAX);
  }

  commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    for (const transaction of transactions) assertWellFormed(transaction);
    return this.send(transactions);
  }

  close(): void {
    clearInterval(this.pruneTimer);
  }

  /**
   * Sends all transactions in one call, or in halves if they exceed the server's packet size. If they form one group,
   * `commit_common` commits them in the common case, in which none is refused; otherwise `commit_batch` decides.
   */
  private async send(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const groups = groupsOf(transactions);
    const outcomes = groups.length === 1 ? await this.sendCommon(groups[0] as TransactionGroup) : null;
    if (outcomes !== null) return outcomes;
    const values = encodeGroups(groups);
    if (transactions.length > 1 && bytesOf(values) > this.packetBytesMax)
      return this.sendHalves(transactions);
    const results = await this.call('commit_batch', values);
    const rows = results.at(-1) as GroupRow[];
    const refusalRows = results.slice(0, -1).flat() as RefusalRow[];
    return groups.flatMap((group, index) =>
      decodeGroup(
        group,
        rows[index] as GroupRow,
        refusalRows.filter((row) => row.run === index),
      ),
    );
  }

  /** The outcomes in the common case; null: nothing happened. */
  protected async sendCommon(group: TransactionGroup): Promise<CommitOutcome[] | null> {
    const values = encodeCommon(group);
    if (values === null || bytesOf(values) > this.packetBytesMax) return null;
    const [rows] = await this.call('commit_common', values);
    const row = rows?.[0] as GroupRow | undefined;
    return row === undefined ? null : decodeGroup(group, row, []);
  }

  private async sendHalves(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const middle = transactions.length >> 1;
    const first = await this.send(transactions.slice(0, middle));
    try {
      return [...first, ...(await this.send(transactions.slice(middle)))];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StoreUncertain(`Only a part of the batch is known to be committed: ${reason}`);
    }
  }

  /** Calls a procedure under a new batch id. */
  private call(procedure: string, arguments_: readonly BatchValue[]): Promise<RowDataPacket[][]> {
    const values = [randomBytes(16), ...arguments_];
    const statement = { sql: sql(procedure), timeout: this.options.statement_timeout_ms };
    let isSent = false;
    const send = () =>
      withConnection(this.pool, async (connection) => {
        isSent = true;
        const [results] = await connection.execute<RowDataPacket[][]>(statement, values);
        // The last result is the status of the call itself.
        return results.slice(0, -1);
      });
    return sendOnce('MySQL', send, {
      isReplyLost: (error) => isSent && classifyError(error) === 'lost',
      isRetryable: (error) => classifyError(error) === 'again',
      toStoreError: (error) => toStoreError(error, this.options),
    });
  }

  /** Deletes the outcomes of old batches. Failures are ignored: the next run tries again. */
  private async prune(): Promise<void> {
    const text = sql('prune_batches', { keep_ms: KEEP_MS, limit: PRUNED_AT_ONCE });
    const prune = () => this.pool.query<ResultSetHeader>(text).then(([{ affectedRows }]) => affectedRows);
    while ((await prune().catch(() => 0)) === PRUNED_AT_ONCE);
  }
}

/** Upper bound of the call's size on the wire. */
function bytesOf(values: readonly BatchValue[]): number {
  return values.reduce((sum: number, value) => {
    if (typeof value === 'string') return sum + value.length * UTF8_BYTES_PER_UNIT_MAX;
    return sum + (value === null || typeof value === 'number' ? 0 : value.byteLength);
  }, ENVELOPE_BYTES);
}
