import type { ClaimIdOf, DecisionContext } from '../../core/claims/commands.js';
import { emptyHead, type Head } from '../../core/claims/head.js';
import { isLive, permitHeldUntilMs } from '../../core/claims/lease.js';
import type { Limits, Policy, Rules } from '../../core/claims/policy.js';
import type { GrantLimit } from '../../core/claims/reached-limit.js';
import type { EventDraft, NewEvent } from '../../core/events/envelope.js';
import type { AnyHead } from '../../core/fold.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import type { RecordHead } from '../../core/record.js';
import {
  featureSubject,
  LOSS_SUBJECT,
  METHODOLOGY_SUBJECT,
  POLICY_SUBJECT,
  sessionSubject,
  subjectKindOf,
} from '../../core/subject.js';
import { claimedSubjectsOf, subjectsWithOpenClaim, type WorkState } from '../../core/views/index.js';
import type { PermitLimit, ProjectKey } from '../../stores/store.js';
import type { Environment } from '../runtime/environment.js';
import { claimIdDeriver, newEventId } from '../runtime/identity.js';
import { tenantPermitLimits } from './permit-limits.js';
import type { RefusalCounter } from './refusal-counter.js';
import type { ProjectRules, RulesCache } from './rules-cache.js';
import { SingleEntryMap } from './single-entry-map.js';

/** Expected effects of operations that are decided but not committed. They guide decisions; the store checks them. */
export class Overlay {
  constructor(
    readonly heads = new SingleEntryMap<string, AnyHead>(),
    /** Until when each session counts as active once the operations are committed. */
    readonly sessionUntilMs = new SingleEntryMap<string, number>(),
  ) {}
}

export interface DecisionSource {
  readonly key: ProjectKey;
  readonly state: WorkState;
  readonly rules_seq: number;
  readonly limits: Limits;
  readonly claimIdSecret: string;
  readonly environment: Environment;
  readonly rulesCache: RulesCache;
  readonly sessionUntilMs: ReadonlyMap<string, number>;
  readonly hasOtherWriters: boolean;
  readonly refusals: RefusalCounter;
  /** Resolves when every batch decided so far has ended. */
  settled(): Promise<void>;
}

/**
 * The project as an operation sees it while its batch is decided: the committed state, overlaid with the expected
 * effects of earlier operations in this batch and in batches under way.
 */
export class DecisionView {
  /** Uncommitted heads that the current operation has read. Its transaction must check them. */
  readonly readSet = new Set<string>();
  /** Heads that this view has added to the overlay. */
  private readonly stagedHeads: AnyHead[] = [];
  private readonly stagedSessionExpiries: { readonly session_id: string; readonly until_ms: number }[] = [];
  readonly key: ProjectKey;
  readonly state: WorkState;
  readonly limits: Limits;
  private cachedRules: ProjectRules | null = null;
  private cachedPermitLimits: readonly PermitLimit[] | null = null;
  private cachedSession: SessionLookup | null = null;
  /** The limit that the store reported as exhausted for the current operation. */
  reachedLimit: GrantLimit | null = null;

  constructor(
    private readonly source: DecisionSource,
    readonly now_ms: number,
    private readonly overlay = new Overlay(),
  ) {
    this.key = source.key;
    this.state = source.state;
    this.limits = source.limits;
  }

  get rules_seq(): number {
    return this.source.rules_seq;
  }

  /** The number of refusals so far, per subject, generation and principal. */
  get refusals(): RefusalCounter {
    return this.source.refusals;
  }

  /** The head to decide on. If it is uncommitted it joins the read set, and the transaction must check it. */
  head(subject: string): Head {
    const staged = this.overlay.heads.get(subject) as Head | undefined;
    if (staged === undefined) return this.state.heads.get(subject) ?? emptyHead(subject);
    this.readSet.add(subject);
    return staged;
  }

  /** Whether the work is completed. Cheaper than `head`, and an uncommitted head joins the read set as with `head`. */
  isCompleted(subject: string): boolean {
    const staged = this.overlay.heads.get(subject) as Head | undefined;
    if (staged === undefined) return this.state.heads.isCompleted(subject);
    this.readSet.add(subject);
    return staged.phase === 'COMPLETED';
  }

  /** Whether the subject has a head, committed or not. */
  hasHead(subject: string): boolean {
    return this.overlay.heads.has(subject) || this.state.heads.has(subject);
  }

  /** Whether other coordinators write to the store, whose commits may not be known here yet. */
  get hasOtherWriters(): boolean {
    return this.source.hasOtherWriters;
  }

  /** Reads a head without adding it to the read set. A decision may use it only if it needs no check, or adds its own. */
  peekHead(subject: string): Head {
    const staged = this.overlay.heads.get(subject) as Head | undefined;
    return staged ?? this.state.heads.get(subject) ?? emptyHead(subject);
  }

  /** Starts the next operation. `reachedLimit` is the limit that the store reported as exhausted for it. */
  beginOperation(reachedLimit: GrantLimit | null): void {
    this.reachedLimit = reachedLimit;
    this.cachedSession = null;
    if (this.readSet.size > 0) this.readSet.clear();
  }

  record(subject: string): RecordHead | null {
    const staged = this.overlay.heads.get(subject) as RecordHead | undefined;
    return staged ?? this.state.records.get(subject) ?? null;
  }

  /** The project's methodology as of its last configuration; null if it was never configured. */
  get methodology(): Methodology | null {
    return (this.record(METHODOLOGY_SUBJECT)?.value ?? null) as Methodology | null;
  }

  feature(featureId: string): Feature | null {
    return (this.record(featureSubject(featureId))?.value ?? null) as Feature | null;
  }

  /** The edges with a live claim, committed or not. They do not join the read set: check a head that a refusal depends on. */
  claimedEdges(): Head[] {
    const staged = [...this.overlay.heads].map(([subject]) => subject);
    const subjects = new Set([...subjectsWithOpenClaim(this.state), ...staged]);
    const edges = [...subjects].filter((subject) => subjectKindOf(subject) === 'edge');
    return edges.filter((subject) => this.isLive(subject)).map((subject) => this.peekHead(subject));
  }

  /** Whether the subject has a live claim. Its head does not join the read set. */
  isLive(subject: string): boolean {
    return isLive(this.peekHead(subject), this.now_ms, this.rulesOf(subject));
  }

  /** The subjects an agent may hold, committed or staged by earlier operations. */
  subjectsHeldBy(agentId: string): ReadonlySet<string> {
    const subjects = new Set(claimedSubjectsOf(this.source.state, agentId));
    for (const [subject, head] of this.overlay.heads) {
      if ((head as Head).claim?.agent_id === agentId) subjects.add(subject);
    }
    return subjects;
  }

  /** The subjects a session may hold, committed or staged by earlier operations. */
  subjectsOfSession(sessionId: string): ReadonlySet<string> {
    const subjects = new Set(this.state.bySession.get(sessionId) ?? []);
    for (const [subject, head] of this.overlay.heads) {
      if ((head as Head).claim?.session_id === sessionId) subjects.add(subject);
    }
    return subjects;
  }

  /** Adds a head to the overlay, visible to later operations. */
  stageHead(head: { subject: string }): void {
    this.overlay.heads.set(head.subject, head as AnyHead);
    this.stagedHeads.push(head as AnyHead);
    if (this.cachedSession?.subject === head.subject) this.cachedSession = null;
  }

  /** Removes what this view added to the overlay, once it is either committed or refused. */
  discardStaged(): void {
    const { heads, sessionUntilMs } = this.overlay;
    for (const head of this.stagedHeads) if (heads.get(head.subject) === head) heads.delete(head.subject);
    for (const { session_id, until_ms } of this.stagedSessionExpiries) {
      if (sessionUntilMs.get(session_id) === until_ms) sessionUntilMs.delete(session_id);
    }
    this.stagedHeads.length = 0;
    this.stagedSessionExpiries.length = 0;
  }

  /** The limits that a new claim must stay within. */
  get tenantPermitLimits(): readonly PermitLimit[] {
    this.cachedPermitLimits ??= tenantPermitLimits(this.limits);
    return this.cachedPermitLimits;
  }

  get policy(): Policy {
    return this.projectRules.policy;
  }

  rulesOf(subject: string): Rules {
    return this.projectRules.of(subject);
  }

  private get projectRules(): ProjectRules {
    this.cachedRules ??= this.source.rulesCache.get(
      this.record(POLICY_SUBJECT),
      this.record(LOSS_SUBJECT),
      this.limits,
    );
    return this.cachedRules;
  }

  decisionContext(subject: string): DecisionContext {
    return { now_ms: this.now_ms, rules: this.rulesOf(subject), claimIdOf: this.claimIdOf(subject) };
  }

  newEventId(): string {
    return newEventId(this.source.environment, this.now_ms);
  }

  /**
   * Turns the draft into an event without copying it. Only the decision uses the draft, and copying would take longer
   * than deciding.
   */
  stampEvent(draft: EventDraft, eventId?: string): NewEvent {
    const event = draft as NewEvent;
    event.event_id = eventId ?? this.newEventId();
    event.tenant_id = this.key.tenant_id;
    event.project_id = this.key.project_id;
    return event;
  }

  claimIdOf(subject: string): ClaimIdOf {
    return claimIdDeriver(this.source.claimIdSecret, subject);
  }

  /** An id that agents cannot predict, the same for the same name. `kind` must not be a subject: those have claim ids. */
  secretIdOf(kind: string, name: string): string {
    return this.claimIdOf(kind)({ generation: 0, request_id: name });
  }

  /** The session's subject and record. Cached, because one operation looks up the same session repeatedly. */
  lookUpSession(session_id: string): SessionLookup {
    if (this.cachedSession?.session_id !== session_id) {
      const subject = sessionSubject(session_id);
      this.cachedSession = { session_id, subject, record: this.record(subject) };
    }
    return this.cachedSession;
  }

  /** A view with a copy of the overlay. Its changes become visible here only on `merge`. */
  fork(): DecisionView {
    const overlay = new Overlay(this.overlay.heads.copy(), this.overlay.sessionUntilMs.copy());
    const forked = new DecisionView(this.source, this.now_ms, overlay);
    forked.beginOperation(this.reachedLimit);
    return forked;
  }

  merge(forked: DecisionView): void {
    for (const head of forked.stagedHeads) this.stageHead(head);
    for (const { session_id, until_ms } of forked.stagedSessionExpiries)
      this.stageSessionExpiry(session_id, until_ms);
  }

  /** Resolves when the uncommitted operations have ended. */
  settled(): Promise<void> {
    return this.source.settled();
  }

  /** Whether an earlier operation has staged a change to this record. */
  hasPendingChange(subject: string): boolean {
    return this.overlay.heads.has(subject);
  }

  /**
   * Until when a session that acts now counts as active: its idle time or its longest lease, rounded up to the
   * second. `leaseUntilMs` is the end of the claim on `subject`, on which the session acts; null if the session no longer
   * holds that claim.
   */
  extendSessionUntilMs(sessionId: string, leaseUntilMs: number | null, subject: string): number {
    const untilMs = this.activeUntilMs(sessionId, leaseUntilMs, subject);
    this.stageSessionExpiry(sessionId, untilMs);
    return untilMs;
  }

  /** Like `extendSessionUntilMs`, but without effect on later operations. */
  activeUntilMs(sessionId: string, leaseUntilMs: number | null, subject: string): number {
    const held = this.state.bySession.get(sessionId);
    // The session may no longer hold this subject: a result can be accepted after its claim has ended.
    const hasOthers = held !== undefined && held.size > (held.has(subject) ? 1 : 0);
    const stagedMs = this.overlay.sessionUntilMs.get(sessionId) ?? 0;
    const ownMs = ceilToSecond(Math.max(this.idleUntilMs, stagedMs, leaseUntilMs ?? 0));
    // A session may hold a thousand claims. They are read only if one of them can last longer than this one.
    if (!hasOthers || this.heldClaimsBoundMs(sessionId) <= ownMs) return ownMs;
    return Math.max(ownMs, ceilToSecond(this.heldClaimsUntilMs(sessionId, subject)));
  }

  /**
   * New end of activity for a session that lost this head's claim without acting: its idle time from now, or the end
   * of the claims it still holds. Null if the store's value is not later than that, or if the head holds no permit.
   */
  shortenSessionUntilMs(head: Head): number | null {
    const sessionId = head.claim?.session_id ?? '';
    const claimUntilMs = permitHeldUntilMs(head, this.rulesOf(head.subject));
    if (claimUntilMs === null) return null;
    const stagedMs = this.overlay.sessionUntilMs.get(sessionId) ?? 0;
    const heldMs = this.heldClaimsUntilMs(sessionId, head.subject);
    const untilMs = ceilToSecond(Math.max(this.idleUntilMs, stagedMs, heldMs));
    // The coordinator that granted the claim counted the session until the claim's end, or longer under an older policy.
    const committedMs = Math.max(this.source.sessionUntilMs.get(sessionId) ?? 0, claimUntilMs);
    if (committedMs <= untilMs) return null;
    this.stageSessionExpiry(sessionId, untilMs);
    return untilMs;
  }

  /** When a session that acts now and holds nothing becomes idle. */
  private get idleUntilMs(): number {
    return this.now_ms + this.limits.session_idle_seconds * 1000;
  }

  /**
   * Whether the store already has this value, so that a session acting twice within a second writes it once. An infinite
   * time is always written if others write to the store: they may have replaced it since, even long after.
   */
  isSessionCountedUntil(sessionId: string, untilMs: number): boolean {
    if (this.hasOtherWriters && !Number.isFinite(untilMs)) return false;
    return this.source.sessionUntilMs.get(sessionId) === untilMs;
  }

  /** A whole second that no committed claim of the session outlasts. */
  private heldClaimsBoundMs(sessionId: string): number {
    if (this.policy.stale_policy.task === 'hold') return Number.POSITIVE_INFINITY;
    const leaseEndMs = this.state.latestLeaseEndBySession.get(sessionId) ?? 0;
    return ceilToSecond(leaseEndMs + this.projectRules.skewMarginMs);
  }

  private stageSessionExpiry(session_id: string, until_ms: number): void {
    this.overlay.sessionUntilMs.set(session_id, until_ms);
    this.stagedSessionExpiries.push({ session_id, until_ms });
  }

  /** The latest end of the claims that a session holds, except the claim on one subject. */
  private heldClaimsUntilMs(sessionId: string, exceptSubject: string): number {
    const held = this.state.bySession.get(sessionId) ?? [];
    const subjects = [...held].filter((subject) => subject !== exceptSubject);
    return Math.max(0, ...subjects.map((id) => permitHeldUntilMs(this.peekHead(id), this.rulesOf(id)) ?? 0));
  }
}

interface SessionLookup {
  readonly session_id: string;
  readonly subject: string;
  readonly record: RecordHead | null;
}

const ceilToSecond = (atMs: number): number => Math.ceil(atMs / 1000) * 1000;
