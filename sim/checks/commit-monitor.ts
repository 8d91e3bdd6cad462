import { claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { Limits } from '../../src/core/claims/policy.js';
import { type EventEnvelope, msOf } from '../../src/core/events/envelope.js';
import type { AnyHead } from '../../src/core/fold.js';
import { isJsonEqual } from '../../src/core/json-equal.js';
import { inputsOf, openDependenciesOf } from '../../src/core/plan/index.js';
import {
  type CommitOutcome,
  type ProjectKey,
  projectPath,
  type StoredHead,
  type Transaction,
} from '../../src/stores/store.js';
import type { SimWorld } from '../world/world.js';
import { agentsInTracks, overfilledTracks } from './agents-in-tracks.js';
import type { CoverageCounter } from './coverage.js';
import { ProjectMonitor } from './project-monitor.js';

function currentInputs({ state }: ProjectMonitor, subject: string): string | null {
  return inputsOf(state.plan, subject, (id) => {
    const head = state.heads.get(id);
    return head == null || head.result === null
      ? null
      : { generation: head.result.generation, epoch: head.epoch };
  });
}

/** Observes every commit that a store confirms, and checks later commits, recoveries and heads against it. */
export class CommitMonitor {
  /** Number of events seen, over all logs. */
  events_seen = 0;
  private projectMonitors = new Map<string, ProjectMonitor>();
  private tenantsAtLimit = new Set<string>();
  /** The inputs (results of its dependencies) with which each subject was last granted. */
  private readonly inputsAtGrant = new Map<string, string | null>();
  /** For each event, the events of its transaction: either all of them are in the log or none. */
  private readonly atomicGroups = new Map<string, readonly string[]>();

  constructor(
    private readonly world: SimWorld,
    private readonly coverage: CoverageCounter,
    private readonly limits: Limits,
    /**
     * Whether track limits are checked. A track permit belongs to an agent and spans several claims, so it is exact
     * only where one coordinator sees all of them.
     */
    private readonly areTrackLimitsChecked: boolean,
  ) {}

  projectMonitor(projectKey: ProjectKey): ProjectMonitor {
    let projectMonitor = this.projectMonitors.get(projectPath(projectKey));
    if (projectMonitor === undefined) {
      projectMonitor = new ProjectMonitor(this.world, projectKey, this.limits, this.coverage);
      this.projectMonitors.set(projectPath(projectKey), projectMonitor);
    }
    return projectMonitor;
  }

  allProjectMonitors(): Iterable<ProjectMonitor> {
    return this.projectMonitors.values();
  }

  /** A store received these transactions: each happens as a whole, or not at all. */
  onCommitAttempt(transactions: readonly Transaction[]): void {
    for (const { swaps } of transactions) {
      const ids = swaps.flatMap(({ events }) => events.map(({ event_id }) => event_id));
      for (const id of ids) this.atomicGroups.set(id, ids);
    }
  }

  /** A store reported these outcomes: what they committed is durable now. */
  onCommitted(transactions: readonly Transaction[], outcomes: readonly CommitOutcome[]): void {
    for (const [index, outcome] of outcomes.entries()) {
      const transaction = transactions[index] as Transaction;
      if (outcome.kind === 'replay') this.coverage.hit('replayed reply');
      if (outcome.kind === 'conflict') this.coverage.hit('conflict retried');
      if (outcome.kind === 'full') this.onLimitReached(transaction.tenant_id);
      if (outcome.kind === 'committed') this.checkCommitted(transaction, outcome);
    }
  }

  /** Checks the events that a reopened store found: all confirmed ones, and perhaps more. */
  onRecovered(projectKey: ProjectKey, after: number, events: readonly EventEnvelope[]): void {
    const projectMonitor = this.projectMonitor(projectKey);
    for (const expected of projectMonitor.events.slice(after)) {
      const recovered = events[expected.position - after - 1];
      if (recovered !== undefined && isJsonEqual(recovered, expected)) continue;
      const change = recovered === undefined ? 'is missing' : 'has changed';
      this.world.reportViolation(
        'INV-10',
        `${projectPath(projectKey)}: event ${expected.position} (${expected.event_type}) ${change}`,
      );
      return;
    }
    const newEvents = events.slice(projectMonitor.events.length - after);
    this.checkAtomicity(projectKey, newEvents);
    for (const event of newEvents) this.addEvent(projectMonitor, event);
  }

  checkHeads(projectKey: ProjectKey, heads: readonly StoredHead[]): void {
    for (const { invariant, subject, message: says } of this.projectMonitor(projectKey).checker.checkHeads(
      heads as readonly AnyHead[],
    )) {
      this.world.reportViolation(invariant, `${projectPath(projectKey)} ${subject}: ${says}`);
    }
  }

  /** Rebuilds all checks from the events that have survived a loss of history, by project. */
  onHistoryLost(keptEvents: ReadonlyMap<string, readonly EventEnvelope[]>): void {
    const oldMonitors = this.projectMonitors;
    this.projectMonitors = new Map();
    for (const { key } of oldMonitors.values()) {
      const replacement = this.projectMonitor(key);
      for (const event of keptEvents.get(projectPath(key)) ?? []) this.addEvent(replacement, event);
      replacement.markSurvivedLoss();
    }
  }

  private addEvent(projectMonitor: ProjectMonitor, event: EventEnvelope): void {
    this.events_seen += 1;
    projectMonitor.addEvent(event);
  }

  private checkAtomicity(projectKey: ProjectKey, events: readonly EventEnvelope[]): void {
    const ids = new Set(events.map(({ event_id }) => event_id));
    for (const { event_id, event_type } of events) {
      if (this.atomicGroups.get(event_id)?.every((id) => ids.has(id)) ?? true) continue;
      this.world.reportViolation(
        'INV-10',
        `${projectPath(projectKey)}: ${event_type} was found without its whole transaction`,
      );
    }
  }

  /** Checks the time bounds of a transaction at its commit, by the store's clock: its decision may be much older. */
  private checkTime({ not_before_ms, not_after_ms, swaps }: Transaction, nowMs: number): void {
    if (nowMs < (not_before_ms ?? nowMs))
      this.world.reportViolation('INV-04', 'committed before not_before_ms');
    if (nowMs >= (not_after_ms ?? Number.POSITIVE_INFINITY)) {
      this.world.reportViolation('INV-04', 'committed at or after not_after_ms');
    }
    for (const { event_type, subject, payload } of swaps.flatMap(({ events }) => events)) {
      if (claimEventKindOf(event_type) !== 'lost' || typeof payload.expired_at !== 'string') continue;
      if (nowMs < msOf(payload.expired_at)) {
        this.world.reportViolation(
          'INV-04',
          `${subject} expired before ${payload.expired_at} by the clock of the store`,
        );
      }
    }
  }

  private checkDependencies(projectMonitor: ProjectMonitor, subject: string): void {
    const { plan, heads } = projectMonitor.state;
    const openDependencies = openDependenciesOf(plan, subject, (id) => heads.get(id)?.phase === 'COMPLETED');
    if (openDependencies.length > 0)
      this.world.reportViolation('INV-19', `${subject} was granted while ${openDependencies[0]} was open`);
    this.inputsAtGrant.set(
      `${projectPath(projectMonitor.key)} ${subject}`,
      currentInputs(projectMonitor, subject),
    );
  }

  /** INV-19: when a result is accepted, the results that the work was made from are still the current ones. */
  private checkInputs(projectMonitor: ProjectMonitor, subject: string): void {
    const granted = this.inputsAtGrant.get(`${projectPath(projectMonitor.key)} ${subject}`);
    const current = currentInputs(projectMonitor, subject);
    if (granted === undefined || granted === current) return;
    this.world.reportViolation('INV-19', `${subject} was built from ${granted} but accepted with ${current}`);
  }

  private checkCommitted(transaction: Transaction, outcome: CommitOutcome & { kind: 'committed' }): void {
    const projectMonitor = this.projectMonitor(transaction);
    const events = [...transaction.swaps.flatMap((swap) => swap.events), ...transaction.loose_events];
    const eventKinds = events.map((event) => claimEventKindOf(event.event_type));
    this.checkTime(transaction, outcome.now_ms);
    const liveBefore = this.countLiveClaims(transaction.tenant_id, outcome.now_ms);
    // The escalation of an expired claim that the policy keeps held takes no permit.
    const isPermitTaken = events.some(
      ({ subject = '' }, index) =>
        eventKinds[index] === 'granted' ||
        (eventKinds[index] === 'escalated' && !projectMonitor.isHeld(subject, outcome.now_ms)),
    );
    const tracksBefore = isPermitTaken ? agentsInTracks(projectMonitor, outcome.now_ms) : null;
    // An operator can adopt a result while dependencies of its subject are open.
    if (!eventKinds.includes('adopted')) {
      for (const [index, { subject = '' }] of events.entries()) {
        if (eventKinds[index] === 'granted') this.checkDependencies(projectMonitor, subject);
        if (eventKinds[index] === 'accepted') this.checkInputs(projectMonitor, subject);
      }
    }
    for (const [index, event] of events.entries()) {
      const position = outcome.positions[index] ?? null;
      if (position === null) continue;
      this.world.trace(
        `log ${projectPath(transaction)} ${position} ${event.event_type} ${event.subject} g${event.generation}`,
      );
      const positioned = { ...event, position };
      this.countCoverage(projectMonitor, positioned, eventKinds);
      this.addEvent(projectMonitor, positioned);
    }
    if (tracksBefore === null) return;
    this.checkLimit(projectMonitor.key.tenant_id, liveBefore, outcome.now_ms);
    if (!this.areTrackLimitsChecked) return;
    for (const message of overfilledTracks(projectMonitor, outcome.now_ms, tracksBefore))
      this.world.reportViolation('INV-15', message);
  }

  /** Counts the coverage goals that this event reaches. The project state is still the state before the event. */
  private countCoverage(
    projectMonitor: ProjectMonitor,
    event: EventEnvelope,
    transactionKinds: readonly unknown[],
  ): void {
    const eventKind = claimEventKindOf(event.event_type);
    const head = projectMonitor.state.heads.get(event.subject ?? '');
    if (eventKind === 'granted' && event.payload.previous_state === 'EXPIRED') {
      this.coverage.hit('takeover');
      this.coverage.hit(
        transactionKinds.includes('lost') ? 'takeover before sweep' : 'sweep before takeover',
      );
    }
    if (eventKind === 'granted' && this.tenantsAtLimit.delete(event.tenant_id))
      this.coverage.hit('permit recovered');
    const isExpiry =
      eventKind === 'lost' && event.payload.cause === 'EXPIRED' && event.payload.disposition === 'eligible';
    if (isExpiry && head?.claim?.state === 'SUSPENDED') this.coverage.hit('takeover during suspend');
    if (eventKind === 'accepted' && event.payload.late === true) this.coverage.hit('late accept');
    if (eventKind === 'adopted') this.coverage.hit('adopted');
    if (eventKind === 'escalated') this.coverage.hit('escalated');
    if (eventKind === 'reviewed') this.coverage.hit('reviewed');
    if (eventKind === 'held' && event.payload.by === 'genesis') this.coverage.hit('failure hold');
  }

  private onLimitReached(tenantId: string): void {
    this.tenantsAtLimit.add(tenantId);
    this.coverage.hit('limit reached');
  }

  /**
   * INV-15: at the store's time of the commit, the tenant has at most as many live claims as its limit, counted from the log
   * alone. A policy change that keeps expired claims held may leave a tenant above its limit. Then no grant may raise the
   * number of live claims further.
   */
  private checkLimit(tenantId: string, liveBefore: number, nowMs: number): void {
    const max = this.limits.max_concurrent_claims;
    const live = this.countLiveClaims(tenantId, nowMs);
    if (live <= max || live <= liveBefore) return;
    this.world.reportViolation('INV-15', `${tenantId} has ${live} live claims; the limit is ${max}`);
  }

  private countLiveClaims(tenantId: string, nowMs: number): number {
    let live = 0;
    for (const { key, permitUntilMs: untilMsBySubject } of this.projectMonitors.values()) {
      if (key.tenant_id !== tenantId) continue;
      for (const untilMs of untilMsBySubject.values()) if (untilMs > nowMs) live += 1;
    }
    return live;
  }
}
