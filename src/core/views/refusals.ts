import type { EventDraft } from '../events/envelope.js';
import { asClaimEvent } from '../events/known-event.js';

/** The refusals of one principal under one generation of a subject. */
export interface RefusalCount {
  total: number;
  /** The ordinal of each refusal that has a `refusalIdentity`, by that identity. */
  readonly ordinals: Map<string, number>;
}

/** The refused claims and submissions of one subject, folded from its events. */
export class RefusalCounts {
  private readonly byKey = new Map<string, RefusalCount>();

  constructor(private readonly onlyGeneration: number | null = null) {}

  /** Number of all refusals, including those that are only counted. */
  get total(): number {
    return sumOf([...this.byKey.values()]);
  }

  totalOf(generation: number): number {
    const isOfGeneration = ([key]: [string, RefusalCount]) => key.startsWith(`${generation} `);
    return sumOf([...this.byKey].filter(isOfGeneration).map(([, count]) => count));
  }

  countFor(generation: number, principal: string): RefusalCount {
    const key = `${generation} ${principal}`;
    const existingCount = this.byKey.get(key);
    if (existingCount !== undefined) return existingCount;
    const newCount = { total: 0, ordinals: new Map<string, number>() };
    this.byKey.set(key, newCount);
    return newCount;
  }

  add(event: EventDraft): void {
    const claimEvent = asClaimEvent(event);
    switch (claimEvent?.kind) {
      case 'claim_refused':
      case 'result_refused':
      case 'refusals_counted': {
        const { current_generation, principal = '', refused_count } = claimEvent.payload;
        if (this.onlyGeneration !== null && this.onlyGeneration !== current_generation) return;
        const count = this.countFor(current_generation, principal);
        // Earlier versions recorded refusals without a number.
        count.total = Math.max(count.total, refused_count ?? count.total + 1);
        const identity = refusalIdentity(event);
        if (identity !== null) count.ordinals.set(identity, refused_count ?? count.total);
      }
    }
  }
}

const sumOf = (counts: readonly RefusalCount[]): number => counts.reduce((sum, { total }) => sum + total, 0);

/** The identity of a refusal, equal for its repetitions; null if each repetition counts. A parked result is kept once. */
export function refusalIdentity({ payload, request_id }: EventDraft): string | null {
  if (payload.parked === true) return `result ${payload.result_id}`;
  return request_id === undefined ? null : `request ${request_id}`;
}
