import { EVENT_TYPES } from '../../core/claims/claim-event-kinds.js';
import { REFUSALS_RECORDED_MAX } from '../../core/claims/refusals.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { type RefusalCount, RefusalCounts } from '../../core/views/refusals.js';

const SUBJECTS_MAX = 5000;
/** Maximum number of requests remembered per principal: those of the recorded refusals, and as many later ones. */
const IDENTITIES_MAX = 2 * REFUSALS_RECORDED_MAX;

const { claim_refused, result_refused, refusals_counted } = EVENT_TYPES;
export const REFUSAL_EVENT_TYPES = [claim_refused, result_refused, refusals_counted].flatMap((types) =>
  Object.values(types),
);

type ReadRefusals = (subject: string, visit: (event: EventEnvelope) => boolean) => Promise<void>;

/**
 * How many refusals the log has, per subject, generation and principal. The log is read at the first refusal; later
 * ones are counted in memory. The least recently used subjects are dropped, and read again on demand.
 */
export class RefusalCounter {
  /** By generation and subject, least recently used first. */
  private readonly countsByGenerationAndSubject = new Map<string, RefusalCounts>();

  constructor(private readonly read: ReadRefusals) {}

  isLoaded(subject: string, generation: number): boolean {
    return this.countsByGenerationAndSubject.has(keyOf(subject, generation));
  }

  /**
   * Reads the counts of a subject. The caller must hold on to them until it calls `count`, because they may
   * be evicted here before that.
   */
  async load(subject: string, generation: number): Promise<RefusalCounts> {
    const counts = new RefusalCounts(generation);
    await this.read(subject, (event) => {
      counts.add(event);
      return true;
    });
    const key = keyOf(subject, generation);
    const existing = this.countsByGenerationAndSubject.get(key);
    if (existing !== undefined) return existing;
    this.remember(key, counts);
    return counts;
  }

  private remember(key: string, counts: RefusalCounts): void {
    this.countsByGenerationAndSubject.delete(key);
    this.countsByGenerationAndSubject.set(key, counts);
    const [oldest] = this.countsByGenerationAndSubject.keys();
    if (this.countsByGenerationAndSubject.size > SUBJECTS_MAX && oldest !== undefined)
      this.countsByGenerationAndSubject.delete(oldest);
  }

  drop(subject: string, generation: number): void {
    this.countsByGenerationAndSubject.delete(keyOf(subject, generation));
  }

  clear(): void {
    this.countsByGenerationAndSubject.clear();
  }

  /**
   * Counts a refusal and returns its number. A refusal that was counted before gets the same number again. `loaded` is
   * what the caller got from `load`.
   */
  count(refusal: CountedRefusal, loaded: RefusalCounts | undefined): number {
    const { subject, generation, principal, request_identity } = refusal;
    const key = keyOf(subject, generation);
    const counts = this.countsByGenerationAndSubject.get(key) ?? loaded;
    if (counts === undefined) throw new Error(`the refusals of ${subject} were not loaded`);
    this.remember(key, counts);
    return nextNumber(counts.countFor(generation, principal), request_identity);
  }

  /** The number of refusals of a subject under one generation; 0 if they are not in memory. */
  totalOf(subject: string, generation: number): number {
    return this.countsByGenerationAndSubject.get(keyOf(subject, generation))?.total ?? 0;
  }
}

interface CountedRefusal {
  readonly subject: string;
  readonly generation: number;
  readonly principal: string;
  /** Equal for repetitions of one request, which count once; null if repetitions cannot be recognized. */
  readonly request_identity: string | null;
}

function nextNumber(count: RefusalCount, identity: string | null): number {
  const knownNumber = identity === null ? undefined : count.ordinals.get(identity);
  if (knownNumber !== undefined) return knownNumber;
  count.total += 1;
  if (identity === null) return count.total;
  count.ordinals.set(identity, count.total);
  if (count.ordinals.size > IDENTITIES_MAX) {
    const late = [...count.ordinals].find(([, number]) => number > REFUSALS_RECORDED_MAX);
    if (late !== undefined) count.ordinals.delete(late[0]);
  }
  return count.total;
}

const keyOf = (subject: string, generation: number): string => `${generation} ${subject}`;
