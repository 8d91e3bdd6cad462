import { type Deadline, DeadlineHeap } from './deadline-heap.js';
import type { Permit, PermitLimit } from './store.js';

/** A live permit of a member in a scope. */
interface HeldPermit extends Deadline {
  readonly project_id: string;
  readonly scope: string;
  readonly member: string;
}

type PermitsByScope = Map<string, Map<string, HeldPermit>>;

/**
 * The live permits of one tenant. A permit is free as soon as its `until_ms` is reached, without a background job:
 * every query first releases expired permits. A permit belongs to the project that took it: members of two projects
 * count in the same scope but are distinct. Time never goes back: a query with an earlier time than a previous one uses
 * the later time.
 */
export class TenantPermits {
  private readonly projects = new Map<string, PermitsByScope>();
  private readonly counts = new Map<string, number>();
  private readonly deadlines = new DeadlineHeap<HeldPermit>();
  private nowMs = Number.NEGATIVE_INFINITY;

  /** The number of live members of a scope. */
  count(scope: string, nowMs: number): number {
    this.advanceTo(nowMs);
    return this.counts.get(scope) ?? 0;
  }

  /** The first scope whose limit these permits would exceed by making a member live; null if they fit. */
  findFullScope(
    projectId: string,
    permits: readonly Permit[],
    permitLimits: readonly PermitLimit[],
    nowMs: number,
  ): string | null {
    for (const { scope, max } of permitLimits) {
      const live = this.count(scope, nowMs);
      if (live + permits.length <= max) continue;
      const { added, freed } = this.countChanges(projectId, permits, scope);
      if (added > 0 && live + added - freed > max) return scope;
    }
    return null;
  }

  set(projectId: string, permit: Permit): void {
    const held = this.find(projectId, permit.scope, permit.member);
    if (!this.isFuture(permit.until_ms)) {
      if (held !== undefined) this.release(held);
    } else if (held === undefined) {
      this.acquire(projectId, permit, permit.until_ms);
    } else {
      held.until_ms = permit.until_ms;
      this.deadlines.update(held);
    }
  }

  /** The live permits of a project. Permits taken during iteration may or may not be included. */
  *entries(projectId: string): Iterable<Permit> {
    for (const members of this.projects.get(projectId)?.values() ?? []) {
      for (const { scope, member, until_ms } of members.values()) yield { scope, member, until_ms };
    }
  }

  /** Releases all permits of a project that is about to be reloaded. */
  drop(projectId: string): void {
    for (const members of [...(this.projects.get(projectId)?.values() ?? [])]) {
      for (const held of [...members.values()]) this.release(held);
    }
  }

  /** Releases every expired permit. */
  advanceTo(nowMs: number): void {
    if (nowMs <= this.nowMs) return;
    this.nowMs = nowMs;
    for (;;) {
      const held = this.deadlines.earliest();
      if (held === undefined || held.until_ms > nowMs) return;
      this.release(held);
    }
  }

  private isFuture(untilMs: number | null): untilMs is number {
    return untilMs !== null && untilMs > this.nowMs;
  }

  private find(projectId: string, scope: string, member: string): HeldPermit | undefined {
    return this.projects.get(projectId)?.get(scope)?.get(member);
  }

  /** The effect of permits on a scope. */
  private countChanges(
    projectId: string,
    permits: readonly Permit[],
    scope: string,
  ): { added: number; freed: number } {
    let added = 0;
    let freed = 0;
    for (const { member, until_ms } of lastPerMember(permits.filter((permit) => permit.scope === scope))) {
      const wasLive = this.find(projectId, scope, member) !== undefined;
      const willBeLive = this.isFuture(until_ms);
      if (willBeLive && !wasLive) added += 1;
      if (wasLive && !willBeLive) freed += 1;
    }
    return { added, freed };
  }

  private acquire(project_id: string, { scope, member }: Permit, until_ms: number): void {
    const scopes: PermitsByScope = this.projects.get(project_id) ?? new Map();
    this.projects.set(project_id, scopes);
    const members: Map<string, HeldPermit> = scopes.get(scope) ?? new Map();
    scopes.set(scope, members);
    const held: HeldPermit = { project_id, scope, member, until_ms, heapKeyMs: until_ms, heap_index: 0 };
    members.set(member, held);
    this.counts.set(scope, (this.counts.get(scope) ?? 0) + 1);
    this.deadlines.add(held);
  }

  /** Empty maps are deleted with their last member, so unused scopes cost no memory. */
  private release(held: HeldPermit): void {
    const { project_id, scope, member } = held;
    const scopes = this.projects.get(project_id) as PermitsByScope;
    const members = scopes.get(scope) as Map<string, HeldPermit>;
    members.delete(member);
    if (members.size === 0) scopes.delete(scope);
    if (scopes.size === 0) this.projects.delete(project_id);
    const left = (this.counts.get(scope) as number) - 1;
    if (left === 0) this.counts.delete(scope);
    else this.counts.set(scope, left);
    this.deadlines.remove(held);
  }
}

/** The last entry per member wins. */
export function lastPerMember(permits: readonly Permit[]): readonly Permit[] {
  if (permits.length < 2) return permits;
  return [
    ...new Map(permits.map((permit) => [JSON.stringify([permit.scope, permit.member]), permit])).values(),
  ];
}
