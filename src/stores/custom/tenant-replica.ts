import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { SteadyClock } from '../clock.js';
import { StoreImage } from '../memory/store-image.js';
import {
  type CommitOutcome,
  LogDamaged,
  type ProjectKey,
  StoreUnavailable,
  StoreUncertain,
  type Transaction,
} from '../store.js';
import {
  eventsByPosition,
  recordFromText,
  restoreTransaction,
  type StoreRecord,
  storedTransactionOf,
  textOfRecord,
  withRedacted,
} from './records.js';
import type { SharedRecords } from './shared-records.js';

/** Maximum number of attempts of a commit or a redaction, each of which fails if another coordinator writes first. */
const ROUNDS_MAX = 200;
/** Maximum number of times that a write is sent if each attempt ends with an error. */
const TRIES_MAX = 5;

/**
 * One tenant of a shared store in memory: its log as far as it was read. A transaction is decided here and added to the
 * log under the next number. If another coordinator has used that number, its record is read and the transaction is
 * decided again. A refusal is returned only if the log has no new records.
 */
export class TenantReplica {
  readonly image = new StoreImage();
  /** The number of the last record that the image includes. */
  length = 0;
  private lastWork: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly records: SharedRecords,
    private readonly tenantId: string,
    private readonly log: string,
    private readonly clock: SteadyClock,
  ) {}

  commit(transaction: Transaction): Promise<CommitOutcome> {
    return this.runExclusively(async () => {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const outcome = await this.attempt(transaction);
        if (outcome !== null) return outcome;
        await pause(round);
      }
      throw new StoreUnavailable(
        `In each of ${ROUNDS_MAX} attempts, another coordinator committed first. Try again in a moment.`,
      );
    });
  }

  /** Reads from the image after it has caught up with the log. */
  read<T>(read: (image: StoreImage) => T): Promise<T> {
    return this.runExclusively(async () => {
      await this.catchUp();
      return read(this.image);
    });
  }

  redact(projectKey: ProjectKey, events: readonly EventEnvelope[]): Promise<void> {
    return this.runExclusively(async () => {
      const redacted = eventsByPosition(events);
      const numbers: number[] = [];
      for (let after = 0; ; ) {
        const texts = await this.readTexts(after);
        if (texts.length === 0) break;
        for (const [index, text] of texts.entries()) {
          const number = after + 1 + index;
          if (await this.redactRecord(number, text, projectKey, redacted)) numbers.push(number);
        }
        after += texts.length;
      }
      if (numbers.length > 0) await this.announceRedaction(numbers);
      await this.catchUp();
    });
  }

  /** Decides a transaction and adds its record. Null: another coordinator was faster. */
  private async attempt(transaction: Transaction): Promise<CommitOutcome | null> {
    const nowMs = this.clock.now();
    const plan = this.image.plan(transaction, nowMs);
    const record = storedTransactionOf(transaction, plan, randomUUID(), nowMs);
    // Nothing to write: the outcome is valid if no other coordinator has written meanwhile.
    if (record === null) return (await this.catchUp()) === 0 ? plan.outcome : null;
    if (await this.add(textOfRecord(record))) {
      this.length += 1;
      restoreTransaction(this.image, this.clock, record);
      return plan.outcome;
    }
    await this.catchUp();
    return null;
  }

  /**
   * Adds the next record. After an error it is sent again under the same number: if the first attempt succeeded, or
   * succeeds later, the number is taken by this record, and by no other.
   */
  private async add(text: string): Promise<boolean> {
    const number = this.length + 1;
    let isInDoubt = false;
    for (let tries = 1; ; tries += 1) {
      try {
        if (await this.records.add(this.log, number, text)) return true;
        return isInDoubt && (await this.records.read(this.log, number - 1))[0] === text;
      } catch (error) {
        if (error instanceof StoreUnavailable && !isInDoubt) throw error;
        isInDoubt = true;
        if (tries === TRIES_MAX) throw new StoreUncertain((error as Error).message);
        await pause(tries);
      }
    }
  }

  /** Applies the records that other coordinators have added, and returns their number. */
  private async catchUp(): Promise<number> {
    const lengthBefore = this.length;
    for (;;) {
      const lengthBeforePage = this.length;
      const texts = await this.readTexts(lengthBeforePage);
      if (texts.length === 0) return this.length - lengthBefore;
      for (const text of texts) await this.applyRecord(text, lengthBeforePage);
    }
  }

  private async applyRecord(text: string, lengthBeforePage: number): Promise<void> {
    const record = this.parseRecord(text, this.length + 1);
    if (record.kind === 'transaction') restoreTransaction(this.image, this.clock, record);
    this.length += 1;
    if (record.kind !== 'redaction') return;
    // Records of earlier pages may have been read before they were redacted; those of this page are redacted already.
    for (const number of record.numbers) if (number <= lengthBeforePage) await this.reloadRecord(number);
  }

  private async reloadRecord(number: number): Promise<void> {
    const record = this.parseRecord((await this.readTexts(number - 1))[0] ?? '', number);
    if (record.kind === 'transaction') this.image.redact(record, record.events);
  }

  /** Removes the redacted payloads from a record. Returns false if it has none of these events. */
  private async redactRecord(
    number: number,
    read: string,
    projectKey: ProjectKey,
    redacted: ReadonlyMap<number, EventEnvelope>,
  ): Promise<boolean> {
    let text = read;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const replacement = withRedacted(this.parseRecord(text, number), projectKey, redacted);
      if (replacement === null) return false;
      if (await this.records.replace(this.log, number, text, textOfRecord(replacement))) return true;
      await pause(round);
      text = (await this.readTexts(number - 1))[0] ?? '';
    }
    throw new StoreUnavailable(
      `Record ${number} of ${this.log} changed in each of ${ROUNDS_MAX} attempts to redact it. Try again in a moment.`,
    );
  }

  private async announceRedaction(numbers: readonly number[]): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await this.catchUp();
      if (await this.add(textOfRecord({ kind: 'redaction', numbers }))) return;
    }
    throw new StoreUnavailable(
      `The redaction was not announced: in each of ${ROUNDS_MAX} attempts, another coordinator wrote first. Repeat the redaction.`,
    );
  }

  /** Reads records. Reading changes nothing, so any error is reported as `StoreUnavailable`. */
  private async readTexts(after: number): Promise<readonly string[]> {
    try {
      return await this.records.read(this.log, after);
    } catch (error) {
      throw new StoreUnavailable((error as Error).message);
    }
  }

  private parseRecord(text: string, number: number): StoreRecord {
    const record = recordFromText(text);
    if (record !== null) return record;
    const { tenantId: tenant_id, log: file } = this;
    throw new LogDamaged({ tenant_id, project_id: '', file, line: number, why: 'it is not a record' });
  }

  /** Runs one piece of work at a time, so that each continues where the previous one stopped reading. */
  private runExclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lastWork.then(work);
    this.lastWork = result.catch(() => {});
    return result;
  }
}

/** With jitter, so that two coordinators do not retry in step. */
const pause = (round: number): Promise<void> => sleep(Math.random() * Math.min(2 ** Math.min(round, 8), 200));
