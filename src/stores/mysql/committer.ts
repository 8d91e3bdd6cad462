import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { type Outcome, StoreUncertain, type Unit } from '../store.js';
import { assertWellFormed } from '../well-formed.js';
import { decodeRun, encodeRuns, type Run, type RunRow, runsOf } from './batch.js';
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

const CALL = 'CALL commit_batch(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

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
    const outcomes: Outcome[] = [];
    for (const portion of portions(units, this.packet_bytes_max / 2)) {
      try {
        outcomes.push(...(await this.send(runsOf(portion))));
      } catch (error) {
        throw outcomes.length === 0 ? error : new StoreUncertain('A part of the batch took effect, the rest not.');
      }
    }
    return outcomes;
  }

  close(): void {
    clearInterval(this.pruning);
  }

  private async send(runs: readonly Run[]): Promise<Outcome[]> {
    const rows = await this.call([randomBytes(16), ...encodeRuns(runs)]);
    return runs.flatMap((run, index) => decodeRun(run, rows[index] as RunRow));
  }

  private async call(values: (Buffer | string | number)[]): Promise<RunRow[]> {
    const until_ms = performance.now() + ASK_AGAIN_MS;
    const sent = { ever: false };
    let cut_short = false;
    for (let pause_ms = PAUSE_MS.first; ; pause_ms = Math.min(pause_ms * 2, PAUSE_MS.longest)) {
      try {
        return await this.callOnce(values, sent);
      } catch (error) {
        cut_short ||= sent.ever && isCutShort(error);
        if (!cut_short && !isWorthAnotherTry(error)) throw translated(error, this.options);
        if (performance.now() > until_ms) {
          throw cut_short
            ? new StoreUncertain('The connection was lost before the outcome was learned.')
            : translated(error, this.options);
        }
        await sleep(pause_ms * (0.5 + Math.random()));
      }
    }
  }

  private callOnce(values: (Buffer | string | number)[], sent: { ever: boolean }): Promise<RunRow[]> {
    return withConnection(this.pool, async (connection) => {
      sent.ever = true;
      const [results] = await connection.execute<RowDataPacket[][]>(
        { sql: CALL, timeout: this.options.statement_timeout_ms },
        values,
      );
      return results[0] as unknown as RunRow[];
    });
  }

  /** Whether it works does not matter to anybody now: the next time will do. */
  private async prune(): Promise<void> {
    const sql = `DELETE FROM batches WHERE now_ms < FLOOR(UNIX_TIMESTAMP(SYSDATE(6)) * 1000) - ${KEEP_MS}
      ORDER BY now_ms LIMIT ${PRUNED_AT_ONCE}`;
    await this.pool.query(sql).catch(() => {});
  }
}

/** All units in one call, unless they are more than the server takes at a time; text may grow to twice its size. */
function portions(units: readonly Unit[], bytes_max: number): (readonly Unit[])[] {
  const all: Unit[][] = [];
  let bytes = 0;
  for (const unit of units) {
    const more = sizeOf(unit);
    if (all.length === 0 || bytes + more > bytes_max) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(unit);
    bytes += more;
  }
  return all;
}
