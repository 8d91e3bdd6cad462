import { type Deadline, DeadlineHeap } from './deadlines.js';
import type { Room, Slot } from './store.js';

/** A member's place in a scope. One that never runs out is in no heap. */
interface Place extends Deadline {
  readonly project_id: string;
  readonly scope: string;
  readonly member: string;
}

type Scopes = Map<string, Map<string, Place>>;

/**
 * Who occupies what in one tenant. A place is free the moment its `until_ms` is reached, with no job running:
 * every question first lets go of what has run out. A place belongs to the project that took it; members of two
 * projects count in the same scope but never meet. Time only moves on: a question about an earlier time than one
 * asked before is answered as of the later.
 */
export class TenantSlots {
  private readonly projects = new Map<string, Scopes>();
  private readonly counts = new Map<string, number>();
  private readonly deadlines = new DeadlineHeap<Place>();
  private reached_ms = Number.NEGATIVE_INFINITY;

  /** Live members of a scope. */
  count(scope: string, now_ms: number): number {
    this.advanceTo(now_ms);
    return this.counts.get(scope) ?? 0;
  }

  isLive(project_id: string, scope: string, member: string, now_ms: number): boolean {
    this.advanceTo(now_ms);
    return this.placeOf(project_id, scope, member) !== undefined;
  }

  /** The first room that these slots would overfill by making a member live; null when they fit. */
  fullScope(
    project_id: string,
    slots: readonly Slot[],
    rooms: readonly Room[],
    now_ms: number,
  ): string | null {
    for (const { scope, max } of rooms) {
      const live = this.count(scope, now_ms);
      if (live + slots.length <= max) continue;
      const { added, freed } = this.change(project_id, slots, scope);
      if (added > 0 && live + added - freed > max) return scope;
    }
    return null;
  }

  set(project_id: string, slot: Slot): void {
    const place = this.placeOf(project_id, slot.scope, slot.member);
    if (!this.isAhead(slot.until_ms)) {
      if (place !== undefined) this.free(place);
    } else if (place === undefined) {
      this.take(project_id, slot, slot.until_ms);
    } else {
      this.prolong(place, slot.until_ms);
    }
  }

  /** The places of a project that have not run out. Live: places taken meanwhile may or may not be seen. */
  *entries(project_id: string): Iterable<Slot> {
    for (const members of this.projects.get(project_id)?.values() ?? []) {
      for (const { scope, member, until_ms } of members.values()) yield { scope, member, until_ms };
    }
  }

  /** Forgets a project, which is about to be loaded anew. */
  drop(project_id: string): void {
    for (const members of [...(this.projects.get(project_id)?.values() ?? [])]) {
      for (const place of [...members.values()]) this.free(place);
    }
  }

  /** Lets go of every place that has run out. */
  advanceTo(now_ms: number): void {
    if (now_ms <= this.reached_ms) return;
    this.reached_ms = now_ms;
    for (;;) {
      const place = this.deadlines.earliest();
      if (place === undefined || place.until_ms > now_ms) return;
      this.free(place);
    }
  }

  private isAhead(until_ms: number | null): until_ms is number {
    return until_ms !== null && until_ms > this.reached_ms;
  }

  private placeOf(project_id: string, scope: string, member: string): Place | undefined {
    return this.projects.get(project_id)?.get(scope)?.get(member);
  }

  /** What slots would change in a scope. Where they name a member twice, the last word stands. */
  private change(
    project_id: string,
    slots: readonly Slot[],
    scope: string,
  ): { added: number; freed: number } {
    const said = new Map<string, number | null>();
    for (const slot of slots) if (slot.scope === scope) said.set(slot.member, slot.until_ms);
    let added = 0;
    let freed = 0;
    for (const [member, until_ms] of said) {
      const was = this.placeOf(project_id, scope, member) !== undefined;
      const is = this.isAhead(until_ms);
      if (is && !was) added += 1;
      if (was && !is) freed += 1;
    }
    return { added, freed };
  }

  private take(project_id: string, { scope, member }: Slot, until_ms: number): void {
    const scopes = getOrMake(this.projects, project_id, (): Scopes => new Map());
    const members = getOrMake(scopes, scope, () => new Map<string, Place>());
    const place: Place = { project_id, scope, member, until_ms, placed_ms: until_ms, heap_index: -1 };
    members.set(member, place);
    this.counts.set(scope, (this.counts.get(scope) ?? 0) + 1);
    if (until_ms !== Number.POSITIVE_INFINITY) this.deadlines.add(place);
  }

  private prolong(place: Place, until_ms: number): void {
    place.until_ms = until_ms;
    const inHeap = place.heap_index !== -1;
    if (until_ms === Number.POSITIVE_INFINITY) {
      if (inHeap) this.deadlines.remove(place);
    } else if (inHeap) {
      this.deadlines.moved(place);
    } else {
      this.deadlines.add(place);
    }
  }

  /** Empty maps go with their last member, so that scopes nobody uses any more cost nothing. */
  private free(place: Place): void {
    const { project_id, scope, member } = place;
    const scopes = this.projects.get(project_id) as Scopes;
    const members = scopes.get(scope) as Map<string, Place>;
    members.delete(member);
    if (members.size === 0) scopes.delete(scope);
    if (scopes.size === 0) this.projects.delete(project_id);
    const left = (this.counts.get(scope) as number) - 1;
    if (left === 0) this.counts.delete(scope);
    else this.counts.set(scope, left);
    if (place.heap_index !== -1) this.deadlines.remove(place);
  }
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const there = map.get(key);
  if (there !== undefined) return there;
  const made = make();
  map.set(key, made);
  return made;
}
