import type { ClaimHeads } from '../heads/claim-heads.js';
import { insertionIndex } from '../insertion-index.js';
import { dependantsOf, dependenciesOf } from '../plan/dependency-graph.js';
import type { Plan } from '../plan/plan.js';
import { compareRank, type RankedSubject, rankedSubject } from '../plan/ranking.js';
import { subtaskIds } from '../plan/task.js';
import { type Weights, weighInSlices } from '../plan/weights.js';
import type { SliceableWork } from '../sliceable-work.js';
import { sortInSlices } from '../sort-in-slices.js';

/** If a head has more dependants than this, they are not updated one by one: the frontier is rebuilt in slices. */
const DEPENDANTS_FOLLOWED_MAX = 1_000;

/** Input of the frontier: the plan and the current heads. */
export interface FrontierInput {
  readonly plan: Plan;
  readonly heads: Pick<ClaimHeads, 'isCompleted' | 'isClaimed'>;
}

/**
 * Unclaimed work whose dependencies are complete: everything that can be ready, and some work that is not, such as work in
 * backoff. Updated with every head, so that a search for work need not scan the plan. After a plan change it is rebuilt;
 * until then the lists may be outdated, so callers check each subject against the plan.
 */
export class Frontier {
  /** Set when the first rebuild begins. Before that, there is nothing to update. */
  #isBuilt = false;
  /** The version of the input from which the lists were built: see `currentVersion`. */
  #rebuiltVersion = 0;
  /** How often a head moved that has too many dependants to update. Each time, a rebuild is needed. */
  #overflows = 0;
  #weights: Weights = new Map();
  /** Subjects per track, best first. */
  #lists = new Map<string, RankedSubject[]>();
  /** All subjects in the lists, with the rank they were inserted under. */
  #ranks = new Map<string, RankedSubject>();
  /**
   * Subjects that were updated during the current rebuild and must be updated again after it; null if no rebuild is in
   * progress.
   */
  #movedDuringRebuild: Set<string> | null = null;

  /** The version a rebuild must have to include everything up to now. */
  currentVersion({ revision }: Plan): number {
    return revision + this.#overflows;
  }

  /** Version of the last completed rebuild. */
  get rebuiltVersion(): number {
    return this.#rebuiltVersion;
  }

  get byTrack(): ReadonlyMap<string, readonly RankedSubject[]> {
    return this.#lists;
  }

  rankedSubject(plan: Plan, subject: string): RankedSubject | undefined {
    return rankedSubject(plan, this.#weights, subject);
  }

  /** Updates the lists for a moved head; `input` must already contain it. */
  onHeadMoved(input: FrontierInput, moved: string, wasCompleted: boolean): void {
    if (!this.#isBuilt) return;
    this.#refresh(input, moved);
    if (input.heads.isCompleted(moved) === wasCompleted) return;
    let refreshedCount = 0;
    for (const subject of dependantsOf(input.plan, moved)) {
      refreshedCount += 1;
      if (refreshedCount > DEPENDANTS_FOLLOWED_MAX) {
        this.#overflows += 1;
        return;
      }
      this.#refresh(input, subject);
    }
  }

  /** Rebuilds the lists. Heads and the plan may change during a pause, but rebuilds must not overlap. */
  *rebuildInSlices(input: FrontierInput): SliceableWork<void> {
    const version = this.currentVersion(input.plan);
    const movedSubjects = new Set<string>();
    this.#movedDuringRebuild = movedSubjects;
    this.#isBuilt = true;
    const weights = yield* weighInSlices(input.plan);
    const lists = yield* listInSlices(input, weights);
    const ranks = new Map<string, RankedSubject>();
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
    const listedRank = this.#ranks.get(subject);
    const rank = isOnFrontier(input, subject) ? this.rankedSubject(input.plan, subject) : undefined;
    if (rank !== undefined && listedRank === undefined) this.#insert(rank);
    if (rank === undefined && listedRank !== undefined) this.#remove(listedRank);
  }

  #insert(rank: RankedSubject): void {
    const list = this.#lists.get(rank.track) ?? [];
    list.splice(rankIndex(list, rank), 0, rank);
    this.#lists.set(rank.track, list);
    this.#ranks.set(rank.id, rank);
  }

  #remove(rank: RankedSubject): void {
    const list = this.#lists.get(rank.track) ?? [];
    list.splice(rankIndex(list, rank), 1);
    this.#ranks.delete(rank.id);
  }
}

function* listInSlices(input: FrontierInput, weights: Weights): SliceableWork<Map<string, RankedSubject[]>> {
  const { plan } = input;
  const lists = new Map<string, RankedSubject[]>();
  for (const track of plan.tracks()) {
    const subjects: RankedSubject[] = [];
    // A copy, so that a change of the track during a pause does not skip a task.
    for (const task of [...plan.tasksOf(track)]) {
      for (const subject of [...subtaskIds(task), task.id]) {
        const rank = isOnFrontier(input, subject) ? rankedSubject(plan, weights, subject) : undefined;
        if (rank !== undefined) subjects.push(rank);
        yield;
      }
    }
    lists.set(track, yield* sortInSlices(subjects, compareRank));
  }
  return lists;
}

function isOnFrontier({ plan, heads }: FrontierInput, subject: string): boolean {
  const isCompleted = (id: string) => heads.isCompleted(id);
  return (
    !heads.isClaimed(subject) && !isCompleted(subject) && dependenciesOf(plan, subject).every(isCompleted)
  );
}

const rankIndex = (subjects: readonly RankedSubject[], rank: RankedSubject): number =>
  insertionIndex(subjects, (other) => compareRank(other, rank) < 0);
