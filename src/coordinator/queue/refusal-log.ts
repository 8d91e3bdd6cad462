import { EVENT_TYPES } from '../../core/claims/claim-event-kinds.js';
import { REFUSALS_RECORDED_MAX } from '../../core/claims/refusals.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { type RefusalCount, RefusalCounts } from '../../core/views/refusals.js';

const SUBJECTS_MAX = 1000;
const PRINCIPALS_PER_SUBJECT_MAX = 500;
/** The identities of recorded refusals, and as many of later ones. */
const IDENTITIES_MAX = 2 * REFUSALS_RECORDED_MAX;

const { claim_denied, result_denied, refusals_counted } = EVENT_TYPES;
export const REFUSAL_EVENT_TYPES = [claim_denied, result_denied, refusals_counted].flatMap((types) =>
  Object.values(types),
);

type ReadRefusals = (subject: string, visit: (event: EventEnvelope) => boolean) => Promise<void>;

/**
 * How many refusals the log has, per subject, generation and principal. The log is read at the first refusal; later
 * ones are counted in memory. The least recently used subjects are forgotten, and read again on demand.
 */
export class RefusalLog {
  /** By generation and subject; the last one used is the last. */
  private readonly bySubject = new Map<string, RefusalCounts>();

  constructor(private readonly read: ReadRefusals) {}

  isLoaded(subject: string, generation: number): boolean {
    return this.bySubject.has(keyOf(subject, generation));
  }

  async load(subject: string, generation: number): Promise<void> {
    const counts = new RefusalCounts(generation);
    await this.read(subject, (event) => {
      counts.add(event);
      return true;
    });
    const key = keyOf(subject, generation);
    if (this.bySubject.has(key)) return;
    this.bySubject.set(key, counts);
    const [oldest] = this.bySubject.keys();
    if (this.bySubject.size > SUBJECTS_MAX && oldest !== undefined) this.bySubject.delete(oldest);
  }

  forget(subject: string, generation: number): void {
    this.bySubject.delete(keyOf(subject, generation));
  }

  clear(): void {
    this.bySubject.clear();
  }

  /** Counts a refusal and returns its number. One that was counted before has the same number again. */
  count(subject: string, generation: number, principal: string, identity: string | null): number {
    const key = keyOf(subject, generation);
    const counts = this.bySubject.get(key);
    if (counts === undefined) throw new Error(`the refusals of ${subject} were not loaded`);
    this.bySubject.delete(key);
    // Too many principals to remember: read again at the next refusal.
    if (counts.size < PRINCIPALS_PER_SUBJECT_MAX) this.bySubject.set(key, counts);
    return nextNumber(counts.of(generation, principal), identity);
  }

  /** All refusals of a subject under one generation, if they are in memory. */
  totalOf(subject: string, generation: number): number {
    return this.bySubject.get(keyOf(subject, generation))?.total ?? 0;
  }
}

function nextNumber(count: RefusalCount, identity: string | null): number {
  const known = identity === null ? undefined : count.numbers.get(identity);
  if (known !== undefined) return known;
  count.total += 1;
  if (identity === null) return count.total;
  count.numbers.set(identity, count.total);
  if (count.numbers.size > IDENTITIES_MAX) {
    const late = [...count.numbers].find(([, number]) => number > REFUSALS_RECORDED_MAX);
    if (late !== undefined) count.numbers.delete(late[0]);
  }
  return count.total;
}

const keyOf = (subject: string, generation: number): string => `${generation} ${subject}`;
