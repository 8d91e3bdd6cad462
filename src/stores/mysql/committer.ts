import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { type Outcome, StoreUncertain, type Unit } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { decodeRun, encodeRuns, type RunRow, runsOf, type ShownRow } from './batch.js';
import { CLOCK_MS } from './commit-procedures.js';
import type { MysqlOptions } from './configuration.js';
import { withConnection } from './connections.js';
import { isCutShort, isWorthAnotherTry, translated } from './errors.js';

/** How long the outcome of a call that was cut short is asked for, and how long a busy lock is tried again. */
const ASK_AGAIN_MS = 10_000;
const PAUSE_MS = { first: 20, longest: 1_000 };
/** How long an outcome is kept for whoever asks again: far longer than anybody does. */
const KEEP_MS = 5 * 60_000;
const PRUNE_EVERY_MS = 60_000;
const PRUNED_AT_ONCE = 10_000;

const UTF8_BYTES_PER_UNIT_MAX = 3;
const ENVELOPE_BYTES = 1024;

const CALL = 'CALL commit_batch(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

/** Takes batches to the server so that each takes effect once, however often it has to be asked for. */
export class Committer {
  private readonly pruning: NodeJS.Timeout;

  constructor(
    private readonly pool: Pool,
    private readonly options: MysqlOptions,
    private readonly packet_bytes_max: number,
  ) {
    this.pruning = setInterval(() => void this.prune(), PRUNE_EVERY_MS * (0.5 + Math.random()));
    this.pruning.unref();
  }

  async commit(units: readonly Unit[]): Promise<Outcome[]> {
    for (const unit of units) assertWellFormed(unit);
    return units.length === 0 ? [] : this.send(units);
  }

  close(): void {
    clearInterval(this.pruning);
  }

  /** All units in one call, or in halves if they are more than the server takes at a time. */
  private async send(units: readonly Unit[]): Promise<Outcome[]> {
    const runs = runsOf(units);
    const values = encodeRuns(runs);
    if (units.length > 1 && bytesOf(values) > this.packet_bytes_max) return this.sendHalves(units);
    const results = await this.call([randomBytes(16), ...values]);
    const rows = results.at(-1) as RunRow[];
    const shown = results.slice(0, -1).flat() as ShownRow[];
    return runs.flatMap((run, index) =>
      decodeRun(
        run,
        rows[index] as RunRow,
        shown.filter((row) => row.run === index),
      ),
    );
  }

  private async sendHalves(units: readonly Unit[]): Promise<Outcome[]> {
    const middle = units.length >> 1;
    const first = await this.send(units.slice(0, middle));
    try {
      return [...first, ...(await this.send(units.slice(middle)))];
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new StoreUncertain(`A part of the batch took effect, the rest did not: ${why}`);
    }
  }

  private async call(values: (Buffer | string | number)[]): Promise<RowDataPacket[][]> {
    const sent = { ever: false };
    let until_ms = Number.POSITIVE_INFINITY;
    let cut_short = false;
    for (let pause_ms = PAUSE_MS.first; ; pause_ms = Math.min(pause_ms * 2, PAUSE_MS.longest)) {
      try {
        return await this.callOnce(values, sent);
      } catch (error) {
        cut_short ||= sent.ever && isCutShort(error);
        if (!cut_short && !isWorthAnotherTry(error)) throw translated(error, this.options);
        // From the first failure on: the call itself may have been waited for long enough.
        until_ms = Math.min(until_ms, performance.now() + ASK_AGAIN_MS);
        if (performance.now() >= until_ms) {
          throw cut_short
            ? new StoreUncertain('The connection was lost before the outcome was learned.')
            : translated(error, this.options);
        }
        await sleep(pause_ms * (0.5 + Math.random()));
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
