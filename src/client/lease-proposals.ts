import type { Calls } from './calls.js';
import { isProblem } from './replies.js';

const LEASE_SECONDS = 300;
const REMEMBERED_MAX = 200;
const ASKED = 100;
const OF_TEN = 0.9;

/**
 * How long a lease to ask for: about what nine in ten pieces of the track took. Then a piece needs a few renewals,
 * and an agent that dies costs the others about the time of one piece.
 */
export class LeaseProposals {
  private readonly durations = new Map<string, Promise<number[]>>();
  private bounds: Promise<{ min_seconds: number; max_seconds: number }> | null = null;

  constructor(private readonly calls: Calls) {}

  async proposeFor(track: string | undefined): Promise<number> {
    this.bounds ??= this.readBounds();
    const { min_seconds, max_seconds } = await this.bounds;
    const known = [...(await this.of(track))].sort((a, b) => a - b);
    const usual = known[Math.ceil(known.length * OF_TEN) - 1];
    const seconds = usual === undefined ? LEASE_SECONDS : Math.ceil(usual / 1000);
    return Math.min(Math.max(seconds, min_seconds), max_seconds);
  }

  async learn(track: string | undefined, duration_ms: number): Promise<void> {
    const known = await this.of(track);
    known.push(duration_ms);
    if (known.length > REMEMBERED_MAX) known.shift();
  }

  private of(track: string | undefined): Promise<number[]> {
    const known = this.durations.get(track ?? '') ?? this.readDurations(track);
    this.durations.set(track ?? '', known);
    return known;
  }

  private async readDurations(track: string | undefined): Promise<number[]> {
    const done = await this.calls.tasks({
      phase: 'COMPLETED',
      limit: ASKED,
      ...(track === undefined ? {} : { track }),
    });
    if (isProblem(done)) return [];
    return done.tasks.flatMap(({ claim, result }) => {
      if (claim === null || result === null || claim.generation !== result.generation) return [];
      return [Date.parse(result.submitted_at) - Date.parse(claim.claimed_at)];
    });
  }

  private async readBounds(): Promise<{ min_seconds: number; max_seconds: number }> {
    const limits = await this.calls.limits();
    if (isProblem(limits)) return { min_seconds: LEASE_SECONDS, max_seconds: LEASE_SECONDS };
    return {
      min_seconds: limits.min_lease_duration_seconds,
      max_seconds: limits.max_lease_duration_seconds,
    };
  }
}
