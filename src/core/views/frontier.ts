import type { Head } from '../claims/head.js';
import { dependantsOf, dependenciesOf } from '../plan/dependency-graph.js';
import type { Plan } from '../plan/plan.js';
import { compareRank, type Rank, rankOf } from '../plan/readiness.js';
import { subtaskIds } from '../plan/task.js';
import { type Weights, weightSteps } from '../plan/weights.js';
import { sortSteps } from '../sort-steps.js';
import type { StepGenerator } from '../steps.js';

/** A head that frees more than this is not followed: the frontier is surveyed again, in steps. */
const DEPENDANTS_FOLLOWED_MAX = 1_000;

/** What the frontier looks at: the plan, and the heads as they are now. */
export interface FrontierInput {
  readonly plan: Plan;
  readonly heads: ReadonlyMap<string, Head>;
  /** Subjects with an ACTIVE or SUSPENDED claim, lapsed or not. */
  readonly live: ReadonlySet<string>;
}

/**
 * The work whose dependencies are complete and that nobody holds: all that can be ready, and a little that cannot, such
 * as work that waits after an error. It follows every head that moves, so that whoever looks for work need not walk over
 * the plan. After a change of the plan it is surveyed again; until then the old lists stand, so whoever takes work from
 * them asks the plan again.
 */
export class Frontier {
  /** From the first survey on: before, there is nothing to keep up. */
  #isBuilt = false;
  /** The version of the plan that the lists were made from. */
  #rebuiltVersion = 0;
  /** How often a head freed too much to be followed. */
  #overflows = 0;
  #weights: Weights = new Map();
  /** The work of each track, best first. */
  #lists = new Map<string, Rank[]>();
  /** All that is in the lists, with the rank it was entered under. */
  #ranks = new Map<string, Rank>();
  /** What moved since the survey under way began; null: none is. */
  #movedDuringRebuild: Set<string> | null = null;

  /** Which survey somebody needs who wants to know of everything that has happened until now. */
  currentVersion({ revision }: Plan): number {
    return revision + this.#overflows;
  }

  /** The version that the last survey knew of. */
  get rebuiltVersion(): number {
    return this.#rebuiltVersion;
  }

  get byTrack(): ReadonlyMap<string, readonly Rank[]> {
    return this.#lists;
  }

  rankOf(plan: Plan, subject: string): Rank | undefined {
    return rankOf(plan, this.#weights, subject);
  }

  /** A head has moved, and the terrain shows it. */
  onHeadMoved(input: FrontierInput, before: Head | null, after: Head): void {
    if (!this.#isBuilt) return;
    this.#refresh(input, after.subject);
    if (before?.phase === after.phase || (before === null && after.phase === 'OPEN')) return;
    let followed = 0;
    for (const subject of dependantsOf(input.plan, after.subject)) {
      followed += 1;
      if (followed > DEPENDANTS_FOLLOWED_MAX) {
        this.#overflows += 1;
        return;
      }
      this.#refresh(input, subject);
    }
  }

  /** Makes the lists anew. Heads and the plan may change between two steps, but no second survey may begin. */
  *rebuildSteps(input: FrontierInput): StepGenerator<void> {
    const version = this.currentVersion(input.plan);
    const movedSubjects = new Set<string>();
    this.#movedDuringRebuild = movedSubjects;
    this.#isBuilt = true;
    const weights = yield* weightSteps(input.plan);
    const lists = yield* listSteps(input, weights);
    const ranks = new Map<string, Rank>();
    for (const list of lists.values()) {
      for (const rank of list) {
        ranks.set(rank.id, rank);
        yield;
      }
    }
    this.#weights = weights;
    this.#lists = lists;
    this.#ranks = ranks;
    this.#movedDuringRebuild = null;
    for (const subject of movedSubjects) {
      this.#updateMembership(input, subject);
      yield;
    }
    this.#rebuiltVersion = version;
  }

  #refresh(input: FrontierInput, subject: string): void {
    this.#movedDuringRebuild?.add(subject);
    this.#updateMembership(input, subject);
  }

  #updateMembership(input: FrontierInput, subject: string): void {
    const listed = this.#ranks.get(subject);
    const rank = isOnFrontier(input, subject) ? this.rankOf(input.plan, subject) : undefined;
    if (rank !== undefined && listed === undefined) this.#insert(rank);
    if (rank === undefined && listed !== undefined) this.#remove(listed);
  }

  #insert(rank: Rank): void {
    const list = this.#lists.get(rank.track) ?? [];
    list.splice(insertionIndex(list, rank), 0, rank);
    this.#lists.set(rank.track, list);
    this.#ranks.set(rank.id, rank);
  }

  #remove(rank: Rank): void {
    const list = this.#lists.get(rank.track) ?? [];
    list.splice(insertionIndex(list, rank), 1);
    this.#ranks.delete(rank.id);
  }
}

function* listSteps(input: FrontierInput, weights: Weights): StepGenerator<Map<string, Rank[]>> {
  const { plan } = input;
  const lists = new Map<string, Rank[]>();
  for (const track of plan.tracks()) {
    const ranks: Rank[] = [];
    // A copy: the track may change between two steps, and must not lose a task by that.
    for (const task of [...plan.tasksOf(track)]) {
      for (const subject of [...subtaskIds(task), task.id]) {
        const rank = isOnFrontier(input, subject) ? rankOf(plan, weights, subject) : undefined;
        if (rank !== undefined) ranks.push(rank);
        yield;
      }
    }
    lists.set(track, yield* sortSteps(ranks, compareRank));
  }
  return lists;
}

function isOnFrontier({ plan, heads, live }: FrontierInput, subject: string): boolean {
  const isComplete = (id: string) => heads.get(id)?.phase === 'COMPLETED';
  return !live.has(subject) && !isComplete(subject) && dependenciesOf(plan, subject).every(isComplete);
}

/** Where the rank is, or would be. */
function insertionIndex(ranks: readonly Rank[], rank: Rank): number {
  let low = 0;
  let high = ranks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareRank(ranks[middle] as Rank, rank) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
