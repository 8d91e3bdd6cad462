import { factOf } from '../../src/core/claims/facts.js';
import { sameValue } from '../../src/core/claims/invariants/same.js';
import type { Limits } from '../../src/core/claims/policy.js';
import { type EventEnvelope, msOf } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import { inputsOf, waitingFor } from '../../src/core/plan/index.js';
import { placeOf } from '../../src/core/views/index.js';
import type { Outcome, ProjectKey, StoredHead, Unit } from '../../src/stores/store.js';
import type { World } from '../world/world.js';
import { ProjectWatch } from './project-watch.js';
import type { Reached } from './sometimes.js';

const nameOf = ({ tenant_id, project_id }: ProjectKey): string => `${tenant_id}/${project_id}`;

function inputsNow({ state }: ProjectWatch, subject: string): string | null {
  return inputsOf(state.plan, subject, (id) => {
    const head = state.heads.get(id);
    return head == null || head.result === null
      ? null
      : { generation: head.result.generation, epoch: head.epoch };
  });
}

/** Sees every commit that a store confirmed, and holds the world to it from then on. */
export class Observer {
  /** Grows with every event of every log. */
  events_seen = 0;
  private watches = new Map<string, ProjectWatch>();
  private wasFull = new Set<string>();
  /** What each subject was last granted for. */
  private readonly inputs = new Map<string, string | null>();
  /** The events that must be there together, by each of them. */
  private readonly together = new Map<string, readonly string[]>();

  constructor(
    private readonly world: World,
    private readonly reached: Reached,
    private readonly limits: Limits,
    /** A place in a track is an agent's, over several claims: it is counted exactly where one coordinator sees them all. */
    private readonly counts_tracks: boolean,
  ) {}

  watch(key: ProjectKey): ProjectWatch {
    let watch = this.watches.get(nameOf(key));
    if (watch === undefined) {
      watch = new ProjectWatch(this.world, key, this.limits);
      this.watches.set(nameOf(key), watch);
    }
    return watch;
  }

  all(): Iterable<ProjectWatch> {
    return this.watches.values();
  }

  /** A store was asked for this: each unit happens as a whole, or not at all. */
  attempted(units: readonly Unit[]): void {
    for (const { swaps } of units) {
      const ids = swaps.flatMap(({ events }) => events.map(({ event_id }) => event_id));
      for (const id of ids) this.together.set(id, ids);
    }
  }

  /** A store has told these outcomes: what they committed is durable now. */
  committed(units: readonly Unit[], outcomes: readonly Outcome[]): void {
    for (const [index, outcome] of outcomes.entries()) {
      const unit = units[index] as Unit;
      if (outcome.kind === 'replay') this.reached.hit('replayed reply');
      if (outcome.kind === 'conflict') this.reached.hit('conflict retried');
      if (outcome.kind === 'full') this.full(unit.tenant_id);
      if (outcome.kind === 'committed') this.take(unit, outcome);
    }
  }

  /** What a store found when it was opened again: all that was confirmed, and perhaps more. */
  recovered(key: ProjectKey, after: number, events: readonly EventEnvelope[]): void {
    const watch = this.watch(key);
    for (const known of watch.events.slice(after)) {
      const found = events[known.position - after - 1];
      if (found !== undefined && sameValue(found, known)) continue;
      const what = found === undefined ? 'is gone' : 'has changed';
      this.world.violate('INV-10', `${nameOf(key)}: event ${known.position} (${known.event_type}) ${what}`);
      return;
    }
    const unheard = events.slice(watch.events.length - after);
    this.checkWhole(key, unheard);
    for (const event of unheard) this.see(watch, event);
  }

  headsAre(key: ProjectKey, heads: readonly StoredHead[]): void {
    for (const { invariant, subject, says } of this.watch(key).checker.finish(heads as readonly AnyHead[])) {
      this.world.violate(invariant, `${nameOf(key)} ${subject}: ${says}`);
    }
  }

  /** History was lost beyond these events: everything is judged anew from them. */
  lost(kept: ReadonlyMap<string, readonly EventEnvelope[]>): void {
    const before = this.watches;
    this.watches = new Map();
    for (const watch of before.values()) {
      const fresh = this.watch(watch.key);
      for (const event of kept.get(nameOf(watch.key)) ?? []) this.see(fresh, event);
      fresh.outlivedLoss();
    }
  }

  private see(watch: ProjectWatch, event: EventEnvelope): void {
    this.events_seen += 1;
    watch.see(event);
  }

  private checkWhole(key: ProjectKey, found: readonly EventEnvelope[]): void {
    const ids = new Set(found.map(({ event_id }) => event_id));
    for (const { event_id, event_type } of found) {
      if (this.together.get(event_id)?.every((id) => ids.has(id)) ?? true) continue;
      this.world.violate('INV-10', `${nameOf(key)}: ${event_type} was found without the rest of its unit`);
    }
  }

  /** Judged by the store's clock at the commit: by then a decision may have been long on its way. */
  private checkTime({ not_before_ms, not_after_ms, swaps }: Unit, now_ms: number): void {
    if (now_ms < (not_before_ms ?? now_ms)) this.world.violate('INV-04', 'committed before its time');
    if (now_ms >= (not_after_ms ?? Number.POSITIVE_INFINITY)) {
      this.world.violate('INV-04', 'committed when its time was over');
    }
    for (const { event_type, subject, payload } of swaps.flatMap(({ events }) => events)) {
      if (factOf(event_type) !== 'lost' || typeof payload.expired_at !== 'string') continue;
      if (now_ms < msOf(payload.expired_at)) {
        this.world.violate(
          'INV-04',
          `${subject} was taken before ${payload.expired_at} by the store’s clock`,
        );
      }
    }
  }

  private checkDependencies(watch: ProjectWatch, subject: string): void {
    const { plan, heads } = watch.state;
    const open = waitingFor(plan, subject, (id) => heads.get(id)?.phase === 'COMPLETED');
    if (open.length > 0) this.world.violate('INV-19', `${subject} was granted while ${open[0]} was open`);
    this.inputs.set(`${nameOf(watch.key)} ${subject}`, inputsNow(watch, subject));
  }

  /** The results that work was made from are still those that count. */
  private checkInputs(watch: ProjectWatch, subject: string): void {
    const granted = this.inputs.get(`${nameOf(watch.key)} ${subject}`);
    const now = inputsNow(watch, subject);
    if (granted === undefined || granted === now) return;
    this.world.violate('INV-19', `${subject} was made from ${granted} and accepted on ${now}`);
  }

  private take(unit: Unit, outcome: Outcome & { kind: 'committed' }): void {
    const watch = this.watch(unit);
    const events = [...unit.swaps.flatMap((swap) => swap.events), ...unit.notes];
    const facts = events.map((event) => factOf(event.event_type));
    this.checkTime(unit, outcome.now_ms);
    const live_before = this.liveIn(unit.tenant_id, outcome.now_ms);
    // Whoever adopts a result does not wait for what it was made from.
    if (!facts.includes('adopted')) {
      for (const [index, { subject = '' }] of events.entries()) {
        if (facts[index] === 'granted') this.checkDependencies(watch, subject);
        if (facts[index] === 'accepted') this.checkInputs(watch, subject);
      }
    }
    for (const [index, event] of events.entries()) {
      const position = outcome.positions[index] ?? null;
      if (position === null) continue;
      this.world.trace(
        `log ${nameOf(unit)} ${position} ${event.event_type} ${event.subject} g${event.generation}`,
      );
      const placed = { ...event, position };
      this.count(watch, placed, facts);
      this.see(watch, placed);
    }
    if (!facts.includes('granted')) return;
    this.checkLimit(watch.key.tenant_id, live_before, outcome.now_ms);
    if (this.counts_tracks) this.checkTracks(watch, outcome.now_ms);
  }

  /** Which of the states we must meet this event shows; the project is still as it was before it. */
  private count(watch: ProjectWatch, event: EventEnvelope, inUnit: readonly unknown[]): void {
    const fact = factOf(event.event_type);
    const head = watch.state.heads.get(event.subject ?? '');
    if (fact === 'granted' && event.payload.previous_state === 'EXPIRED') {
      this.reached.hit('takeover');
      this.reached.hit(inUnit.includes('lost') ? 'takeover before sweep' : 'sweep before takeover');
    }
    if (fact === 'granted' && this.wasFull.delete(event.tenant_id)) this.reached.hit('permit recovered');
    const isExpiry =
      fact === 'lost' && event.payload.cause === 'EXPIRED' && event.payload.disposition === 'eligible';
    if (isExpiry && head?.claim?.state === 'SUSPENDED') this.reached.hit('takeover during suspend');
    if (fact === 'accepted' && event.payload.late === true) this.reached.hit('late accept');
    if (fact === 'adopted') this.reached.hit('adopted');
    if (fact === 'escalated') this.reached.hit('escalated');
    if (fact === 'reviewed') this.reached.hit('reviewed');
    if (fact === 'held' && event.payload.by === 'genesis') this.reached.hit('poison hold');
  }

  private full(tenant_id: string): void {
    this.wasFull.add(tenant_id);
    this.reached.hit('limit reached');
  }

  /**
   * At the store's time of the commit, counted from the log alone. A policy that begins to hold what has run out may
   * leave a tenant with more than it may have: then no grant may add to it.
   */
  private checkLimit(tenant_id: string, live_before: number, now_ms: number): void {
    const max = this.limits.max_concurrent_claims;
    const live = this.liveIn(tenant_id, now_ms);
    if (live <= max || live <= live_before) return;
    this.world.violate('INV-15', `${tenant_id} has ${live} live claims, and may have ${max}`);
  }

  private liveIn(tenant_id: string, now_ms: number): number {
    let live = 0;
    for (const { key, occupied } of this.watches.values()) {
      if (key.tenant_id !== tenant_id) continue;
      for (const until_ms of occupied.values()) if (until_ms > now_ms) live += 1;
    }
    return live;
  }

  private checkTracks(watch: ProjectWatch, now_ms: number): void {
    const max = watch.currentPolicy.max_agents_per_track;
    if (max === null) return;
    const inTrack = new Map<string, Set<string>>();
    for (const [subject, until_ms] of watch.occupied) {
      const { track } = placeOf(subject);
      const head = watch.state.heads.get(subject);
      if (until_ms <= now_ms || track === null || head === undefined) continue;
      const grant = watch.find(subject, head.generation, 'granted');
      if (grant === undefined || grant.position < watch.policy_position) continue;
      inTrack.set(track, (inTrack.get(track) ?? new Set<string>()).add(grant.agent_id));
    }
    for (const [track, agents] of inTrack) {
      if (agents.size <= max) continue;
      this.world.violate('INV-15', `${agents.size} agents in track ${track}, and there may be ${max}`);
    }
  }
}
