import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { type CommitOutcome, StoreUncertain, type Transaction } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { decodeRun, encodeRuns, type RefusalRow, type RunRow, runsOf } from './batch.js';
import { CLOCK_MS } from './commit-script.js';
import { withConnection } from './connection.js';
import { isConnectionLost, isRetryable, toStoreError } from './errors.js';
import type { MysqlOptions } from './options.js';

/** How long to retry after a lost connection or a busy lock. */
const RETRY_MS = 10_000;
const PAUSE_MS = { first: 20, longest: 1_000 };
/** How long an outcome is kept for a retry; far longer than any retry takes. */
const KEEP_MS = 5 * 60_000;
const PRUNE_EVERY_MS = 60_000;
const PRUNED_AT_ONCE = 10_000;

const UTF8_BYTES_PER_UNIT_MAX = 3;
const ENVELOPE_BYTES = 1024;

const CALL = 'CALL commit_batch(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

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

  async commit(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    for (const transaction of transactions) assertWellFormed(transaction);
    return transactions.length === 0 ? [] : this.send(transactions);
  }

  close(): void {
    clearInterval(this.pruneTimer);
  }

  /** Sends all transactions in one call, or in halves if they exceed the server's packet size. */
  private async send(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const runs = runsOf(transactions);
    const values = encodeRuns(runs);
    if (transactions.length > 1 && bytesOf(values) > this.packetBytesMax)
      return this.sendHalves(transactions);
    const results = await this.call([randomBytes(16), ...values]);
    const rows = results.at(-1) as RunRow[];
    const refusalRows = results.slice(0, -1).flat() as RefusalRow[];
    return runs.flatMap((run, index) =>
      decodeRun(
        run,
        rows[index] as RunRow,
        refusalRows.filter((row) => row.run === index),
      ),
    );
  }

  private async sendHalves(transactions: readonly Transaction[]): Promise<CommitOutcome[]> {
    const middle = transactions.length >> 1;
    const first = await this.send(transactions.slice(0, middle));
    try {
      return [...first, ...(await this.send(transactions.slice(middle)))];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StoreUncertain(`A part of the batch took effect, the rest did not: ${reason}`);
    }
  }

  private async call(values: (Buffer | string | number)[]): Promise<RowDataPacket[][]> {
    const sent = { ever: false };
    let untilMs = Number.POSITIVE_INFINITY;
    let wasConnectionLost = false;
    for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.longest)) {
      try {
        return await this.callOnce(values, sent);
      } catch (error) {
        wasConnectionLost ||= sent.ever && isConnectionLost(error);
        if (!wasConnectionLost && !isRetryable(error)) throw toStoreError(error, this.options);
        // Counted from the first failure: the call itself may have taken long.
        untilMs = Math.min(untilMs, performance.now() + RETRY_MS);
        if (performance.now() >= untilMs) {
          throw wasConnectionLost
            ? new StoreUncertain('The connection was lost before the outcome was learned.')
            : toStoreError(error, this.options);
        }
        await sleep(pauseMs * (0.5 + Math.random()));
      }
    }
  }

  private callOnce(
    values: (Buffer | string | number)[],
    sent: { ever: boolean },
  ): Promise<RowDataPacket[][]> {
    return withConnection(this.pool, async (connection) => {
      sent.ever = true;
      const [results] = await connection.execute<RowDataPacket[][]>(
        { sql: CALL, timeout: this.options.statement_timeout_ms },
        values,
      );
      // The last result is the status of the call itself.
      return results.slice(0, -1);
    });
  }

  /** Failures are ignored: the next run tries again. */
  private async prune(): Promise<void> {
    const sql = `DELETE FROM batches WHERE now_ms < ${CLOCK_MS} - ${KEEP_MS}
      ORDER BY now_ms LIMIT ${PRUNED_AT_ONCE}`;
    const prune = () => this.pool.query<ResultSetHeader>(sql).then(([{ affectedRows }]) => affectedRows);
    while ((await prune().catch(() => 0)) === PRUNED_AT_ONCE);
  }
}

/** Upper bound of the call's size on the wire. */
function bytesOf(values: readonly (Buffer | string | number)[]): number {
  return values.reduce((sum: number, value) => {
    if (typeof value === 'string') return sum + value.length * UTF8_BYTES_PER_UNIT_MAX;
    return sum + (typeof value === 'number' ? 0 : value.byteLength);
  }, ENVELOPE_BYTES);
}
