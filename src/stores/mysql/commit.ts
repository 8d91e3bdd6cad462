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

/** How long the outcome of a call that was cut short is asked for, and how long a busy lock is tried again. */
const RETRY_MS = 10_000;
const PAUSE_MS = { first: 20, longest: 1_000 };
/** How long an outcome is kept for whoever asks again: far longer than anybody does. */
const KEEP_MS = 5 * 60_000;
const PRUNE_EVERY_MS = 60_000;
const PRUNED_AT_ONCE = 10_000;

const UTF8_BYTES_PER_UNIT_MAX = 3;
const ENVELOPE_BYTES = 1024;

const CALL = 'CALL commit_batch(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

/** Takes batches to the server so that each takes effect once, however often it has to be asked for. */
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

  /** All units in one call, or in halves if they are more than the server takes at a time. */
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
        // From the first failure on: the call itself may have been waited for long enough.
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
      // After the rows comes the word on how the call itself ended.
      return results.slice(0, -1);
    });
  }

  /** Whether it works does not matter to anybody now: the next time will do. */
  private async prune(): Promise<void> {
    const sql = `DELETE FROM batches WHERE now_ms < ${CLOCK_MS} - ${KEEP_MS}
      ORDER BY now_ms LIMIT ${PRUNED_AT_ONCE}`;
    const prune = () => this.pool.query<ResultSetHeader>(sql).then(([{ affectedRows }]) => affectedRows);
    while ((await prune().catch(() => 0)) === PRUNED_AT_ONCE);
  }
}

/** What the call takes on the wire, at most. */
function bytesOf(values: readonly (Buffer | string | number)[]): number {
  return values.reduce((sum: number, value) => {
    if (typeof value === 'string') return sum + value.length * UTF8_BYTES_PER_UNIT_MAX;
    return sum + (typeof value === 'number' ? 0 : value.byteLength);
  }, ENVELOPE_BYTES);
}
