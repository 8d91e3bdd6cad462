import type { Head } from '../claims/head.js';
import { dependantsOf, dependenciesOf } from '../plan/graph.js';
import type { Plan } from '../plan/plan.js';
import { compareReady, type Rank, rankOf } from '../plan/readiness.js';

/** What the frontier looks at: the plan, and the heads as they are now. */
export interface Terrain {
  readonly plan: Plan;
  readonly heads: ReadonlyMap<string, Head>;
  /** Subjects with an ACTIVE or SUSPENDED claim, lapsed or not. */
  readonly live: ReadonlySet<string>;
}

/**
 * The work that nothing in the plan stands before and nobody holds: all that can be ready, and a little that cannot, as
 * what is held or waits after an error. Kept up with every head that moves, so that who looks for work need not walk
 * over the plan. Made when somebody first asks, and anew when the plan has changed.
 */
export class Frontier {
  private revision: number | null = null;
  /** Each track's own, best first. */
  private readonly tracks = new Map<string, Rank[]>();

  ofTracks(terrain: Terrain): ReadonlyMap<string, readonly Rank[]> {
    if (this.revision !== terrain.plan.revision) this.survey(terrain);
    return this.tracks;
  }

  /** A head has moved, and the terrain shows it. */
  moved(terrain: Terrain, before: Head | null, after: Head): void {
    if (this.revision !== terrain.plan.revision) return;
    this.place(terrain, after.subject);
    if (before?.phase === after.phase || (before === null && after.phase === 'OPEN')) return;
    for (const subject of dependantsOf(terrain.plan, after.subject)) this.place(terrain, subject);
  }

  private survey(terrain: Terrain): void {
    this.tracks.clear();
    for (const subject of terrain.plan.subjects()) {
      const rank = belongs(terrain, subject) ? rankOf(terrain.plan, subject) : undefined;
      if (rank !== undefined) this.track(rank).push(rank);
    }
    for (const ranks of this.tracks.values()) ranks.sort(compareReady);
    this.revision = terrain.plan.revision;
  }

  private place(terrain: Terrain, subject: string): void {
    const rank = rankOf(terrain.plan, subject);
    if (rank === undefined) return;
    const ranks = this.track(rank);
    const at = placeOf(ranks, rank);
    const isThere = ranks[at]?.id === subject;
    const isWanted = belongs(terrain, subject);
    if (isWanted && !isThere) ranks.splice(at, 0, rank);
    if (!isWanted && isThere) ranks.splice(at, 1);
  }

  private track({ track }: Rank): Rank[] {
    const known = this.tracks.get(track);
    if (known !== undefined) return known;
    const ranks: Rank[] = [];
    this.tracks.set(track, ranks);
    return ranks;
  }
}

function belongs({ plan, heads, live }: Terrain, subject: string): boolean {
  const isComplete = (id: string) => heads.get(id)?.phase === 'COMPLETED';
  return !live.has(subject) && !isComplete(subject) && dependenciesOf(plan, subject).every(isComplete);
}

/** Where the rank is, or would be. */
function placeOf(ranks: readonly Rank[], rank: Rank): number {
  let low = 0;
  let high = ranks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareReady(ranks[middle] as Rank, rank) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
