import { type Deadline, DeadlineHeap } from './deadline-heap.js';
import type { Permit, PermitLimit } from './store.js';

/** A live permit of a member. */
interface HeldPermit extends Deadline {
  readonly scope: ProjectScope;
  readonly member: string;
  readonly isOnHead: boolean;
}

/** The number of live members of a scope in all projects. */
interface ScopeCount {
  live: number;
}

/** The part of a scope that belongs to one project. It is kept when empty: a project has few scopes. */
interface ProjectScope {
  readonly name: string;
  readonly project: ProjectPermits;
  readonly members: Map<string, HeldPermit>;
  readonly count: ScopeCount;
}

interface ProjectPermits {
  readonly scopes: Map<string, ProjectScope>;
  /** The number of live permits on heads. */
  liveOnHeads: number;
  /** The permits on heads that have ended and were not released, by member. */
  readonly endedOnHeads: Map<string, Permit>;
}

/**
 * The live permits of one tenant, and the permits on heads that ended without a release. A permit is free as soon
 * as its `until_ms` is reached, without a background job: before permits are counted, the expired ones are removed. A
 * permit belongs to the project that took it: members of two projects count in the same scope but are distinct. Time never goes
 * back: a query with an earlier time than a previous one uses the later time.
 */
export class TenantPermits {
  private readonly projects = new Map<string, ProjectPermits>();
  private readonly counts = new Map<string, ScopeCount>();
  private readonly deadlines = new DeadlineHeap<HeldPermit>();
  private nowMs = Number.NEGATIVE_INFINITY;

  /** The number of live members of a scope. */
  count(scope: string, nowMs: number): number {
    this.advanceTo(nowMs);
    return this.counts.get(scope)?.live ?? 0;
  }

  /** The first scope whose limit these permits would exceed by making a member live; null if there is none. */
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

  /** `isOnHead`: the permit is held until it is released, although it counts only until it ends. */
  set(projectId: string, { scope, member, until_ms }: Permit, isOnHead = false): void {
    const projectScope = this.findScope(projectId, scope);
    const heldPermit = projectScope?.members.get(member);
    if (isOnHead) this.projects.get(projectId)?.endedOnHeads.delete(member);
    if (!this.isFuture(until_ms)) {
      if (heldPermit !== undefined) this.release(heldPermit);
      if (isOnHead && until_ms !== null)
        this.projectOf(projectId).endedOnHeads.set(member, { scope, member, until_ms });
    } else if (heldPermit === undefined) {
      this.acquire(projectScope ?? this.addScope(projectId, scope), member, until_ms, isOnHead);
    } else {
      heldPermit.until_ms = until_ms;
      this.deadlines.update(heldPermit);
    }
  }

  /** Whether the project has a permit on a head that was not released, even if it has ended. */
  isHeld(projectId: string): boolean {
    const project = this.projects.get(projectId);
    return project !== undefined && (project.liveOnHeads > 0 || project.endedOnHeads.size > 0);
  }

  /** Whether the project has no live permit at this time, and all its permits on heads were released. */
  isIdle(projectId: string, nowMs: number): boolean {
    this.advanceTo(nowMs);
    const scopes = this.projects.get(projectId)?.scopes.values() ?? [];
    return !this.isHeld(projectId) && [...scopes].every(({ members }) => members.size === 0);
  }

  /**
   * The live permits of a project, and those on heads that have ended. Permits taken during iteration may or may not
   * be included.
   */
  *entries(projectId: string): Iterable<Permit> {
    const project = this.projects.get(projectId);
    if (project === undefined) return;
    for (const { name, members } of project.scopes.values()) {
      for (const { member, until_ms } of members.values()) yield { scope: name, member, until_ms };
    }
    yield* project.endedOnHeads.values();
  }

  /** Releases all permits of a project that is about to be reloaded. */
  drop(projectId: string): void {
    for (const { members } of this.projects.get(projectId)?.scopes.values() ?? []) {
      for (const heldPermit of [...members.values()]) this.release(heldPermit);
    }
    this.projects.delete(projectId);
  }

  /** Removes every expired permit from the live ones. One on a head is held until it is released (`endedOnHeads`). */
  advanceTo(nowMs: number): void {
    if (nowMs <= this.nowMs) return;
    this.nowMs = nowMs;
    for (;;) {
      const heldPermit = this.deadlines.earliest();
      if (heldPermit === undefined || heldPermit.until_ms > nowMs) return;
      this.release(heldPermit);
      const { scope, member, until_ms, isOnHead } = heldPermit;
      if (isOnHead) scope.project.endedOnHeads.set(member, { scope: scope.name, member, until_ms });
    }
  }

  private isFuture(untilMs: number | null): untilMs is number {
    return untilMs !== null && untilMs > this.nowMs;
  }

  private findScope(projectId: string, scope: string): ProjectScope | undefined {
    return this.projects.get(projectId)?.scopes.get(scope);
  }

  private projectOf(projectId: string): ProjectPermits {
    const existing = this.projects.get(projectId);
    if (existing !== undefined) return existing;
    const project: ProjectPermits = { scopes: new Map(), liveOnHeads: 0, endedOnHeads: new Map() };
    this.projects.set(projectId, project);
    return project;
  }

  /** The effect of permits on a scope. */
  private countChanges(
    projectId: string,
    permits: readonly Permit[],
    scope: string,
  ): { added: number; freed: number } {
    let added = 0;
    let freed = 0;
    const members = this.findScope(projectId, scope)?.members;
    for (const { member, until_ms } of lastPerMember(permits.filter((permit) => permit.scope === scope))) {
      const wasLive = members?.has(member) ?? false;
      const willBeLive = this.isFuture(until_ms);
      if (willBeLive && !wasLive) added += 1;
      if (wasLive && !willBeLive) freed += 1;
    }
    return { added, freed };
  }

  private addScope(projectId: string, name: string): ProjectScope {
    const project = this.projectOf(projectId);
    const count = this.counts.get(name) ?? { live: 0 };
    this.counts.set(name, count);
    const scope: ProjectScope = { name, project, members: new Map(), count };
    project.scopes.set(name, scope);
    return scope;
  }

  private acquire(scope: ProjectScope, member: string, until_ms: number, isOnHead: boolean): void {
    const heldPermit: HeldPermit = { scope, member, isOnHead, until_ms, heapKeyMs: until_ms, heap_index: 0 };
    if (isOnHead) scope.project.liveOnHeads += 1;
    scope.members.set(member, heldPermit);
    scope.count.live += 1;
    this.deadlines.add(heldPermit);
  }

  private release(heldPermit: HeldPermit): void {
    if (heldPermit.isOnHead) heldPermit.scope.project.liveOnHeads -= 1;
    heldPermit.scope.members.delete(heldPermit.member);
    heldPermit.scope.count.live -= 1;
    this.deadlines.remove(heldPermit);
  }
}

/** The last entry per scope and member wins. */
export function lastPerMember(permits: readonly Permit[]): readonly Permit[] {
  if (permits.length < 2) return permits;
  return [
    ...new Map(permits.map((permit) => [JSON.stringify([permit.scope, permit.member]), permit])).values(),
  ];
}
