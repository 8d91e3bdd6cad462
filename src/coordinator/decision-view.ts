import type { ClaimIdOf, DecisionContext } from '../core/claims/commands.js';
import { emptyHead, type Head } from '../core/claims/head.js';
import { isLive, permitHeldUntilMs } from '../core/claims/lease.js';
import { DEFAULT_POLICY, type Limits, type Policy, type Rules, rulesFor } from '../core/claims/policy.js';
import type { AnyHead } from '../core/fold.js';
import type { FeatureVector, Methodology } from '../core/graph/methodology.js';
import type { RecordHead } from '../core/record.js';
import {
  featureSubject,
  METHODOLOGY_SUBJECT,
  POLICY_SUBJECT,
  sessionSubject,
  subjectKindOf,
} from '../core/subject.js';
import { claimedSubjectsOf, type WorkState } from '../core/views/index.js';
import type { PermitLimit, ProjectKey } from '../stores/store.js';
import type { Environment } from './environment.js';
import { claimIdDeriver } from './identity.js';
import { tenantPermitLimits } from './permit-limits.js';

/** What operations that are decided, but not committed yet, are about to do. It only chooses what to try. */
export class Overlay {
  readonly heads = new Map<string, AnyHead>();
  /** Until when sessions count once those operations have happened. */
  readonly sessionUntilMs = new Map<string, number>();
}

export interface DecisionSource {
  readonly key: ProjectKey;
  readonly state: WorkState;
  readonly rules_seq: number;
  readonly limits: Limits;
  readonly claimIdSecret: string;
  readonly environment: Environment;
  readonly skew_margin_ms: number;
  readonly sessionUntilMs: ReadonlyMap<string, number>;
  readonly hasOtherWriters: boolean;
  /** Resolves when everything decided until now has come to its end. */
  settled(): Promise<void>;
}

/**
 * What an operation sees while its batch is decided: the project as the coordinator knows it, and on top of
 * it what the operations before it, in this batch and in those under way, are about to do.
 */
export class DecisionView {
  /** What the operation at the desk has read of what others before it are about to do. */
  readonly readSet = new Set<string>();
  /** What was put on trial at this desk. */
  private readonly stagedHeads: AnyHead[] = [];
  private readonly stagedSessionUntil: { readonly session_id: string; readonly until_ms: number }[] = [];
  readonly limits: Limits;
  private cachedPolicy: Policy | null = null;
  private cachedPermitLimits: readonly PermitLimit[] | null = null;
  private readonly rulesByKind = new Map<string, Rules>();
  private cachedSession: SessionLookup | null = null;
  /** The limit that the store found full, for the operation now at the desk. */
  exhaustedLimit: string | null = null;

  constructor(
    private readonly source: DecisionSource,
    readonly now_ms: number,
    private readonly overlay = new Overlay(),
  ) {
    this.limits = source.limits;
  }

  get key(): ProjectKey {
    return this.source.key;
  }
  get environment(): Environment {
    return this.source.environment;
  }
  get rules_seq(): number {
    return this.source.rules_seq;
  }
  get tenantPermitLimits(): readonly PermitLimit[] {
    this.cachedPermitLimits ??= tenantPermitLimits(this.limits);
    return this.cachedPermitLimits;
  }
  get state(): WorkState {
    return this.source.state;
  }

  /** A head to decide on. Where it is only about to be, the operation stands on it, and its unit must check it. */
  head(subject: string): Head {
    const staged = this.overlay.heads.get(subject) as Head | undefined;
    if (staged === undefined) return this.source.state.heads.get(subject) ?? emptyHead(subject);
    this.readSet.add(subject);
    return staged;
  }

  /** Whether anything ever happened to the subject, or is about to. */
  hasHead(subject: string): boolean {
    return this.overlay.heads.has(subject) || this.source.state.heads.has(subject);
  }

  /** Whether others commit to the same store, whose commits are not known here yet. */
  get hasOtherWriters(): boolean {
    return this.source.hasOtherWriters;
  }

  /** A head to be guided by, where nothing is decided. */
  peekHead(subject: string): Head {
    const staged = this.overlay.heads.get(subject) as Head | undefined;
    return staged ?? this.source.state.heads.get(subject) ?? emptyHead(subject);
  }

  /** The next operation comes to the desk. `full`: the limit that the store found full for it. */
  beginOperation(exhaustedLimit: string | null): void {
    this.exhaustedLimit = exhaustedLimit;
    this.cachedSession = null;
    if (this.readSet.size > 0) this.readSet.clear();
  }

  record(subject: string): RecordHead | null {
    const staged = this.overlay.heads.get(subject) as RecordHead | undefined;
    return staged ?? this.source.state.records.get(subject) ?? null;
  }

  /** What the project says of how it works, as it was read when it was configured; null: it never was. */
  get methodology(): Methodology | null {
    return (this.record(METHODOLOGY_SUBJECT)?.value as unknown as Methodology | undefined) ?? null;
  }

  feature(featureId: string): FeatureVector | null {
    return (this.record(featureSubject(featureId))?.value as unknown as FeatureVector | undefined) ?? null;
  }

  /** The edges that somebody holds, or is about to. To be guided by: who refuses because of one must check it. */
  heldEdges(): Head[] {
    const subjects = new Set([...this.source.state.live, ...this.overlay.heads.keys()]);
    const edges = [...subjects].filter((subject) => subjectKindOf(subject) === 'edge');
    return edges
      .map((subject) => this.peekHead(subject))
      .filter((head) => isLive(head, this.now_ms, this.rulesOf(head.subject)));
  }

  /** What an agent may hold: what it is known to, and what the operations before this one are about to give it. */
  subjectsHeldBy(agentId: string): ReadonlySet<string> {
    const subjects = new Set(claimedSubjectsOf(this.source.state, agentId));
    for (const [subject, head] of this.overlay.heads) {
      if ((head as Head).claim?.agent_id === agentId) subjects.add(subject);
    }
    return subjects;
  }

  /** The operations after this one see this head. */
  stageHead(head: { subject: string }): void {
    this.overlay.heads.set(head.subject, head as AnyHead);
    this.stagedHeads.push(head as AnyHead);
    this.cachedSession = null;
  }

  /** The batch has come to its end, one way or the other: what it tried is known, or did not happen. */
  discardStaged(): void {
    const { heads, sessionUntilMs } = this.overlay;
    for (const head of this.stagedHeads) if (heads.get(head.subject) === head) heads.delete(head.subject);
    for (const { session_id, until_ms } of this.stagedSessionUntil) {
      if (sessionUntilMs.get(session_id) === until_ms) sessionUntilMs.delete(session_id);
    }
  }

  get policy(): Policy {
    this.cachedPolicy ??= policyFromRecord(this.record(POLICY_SUBJECT));
    return this.cachedPolicy;
  }

  rulesOf(subject: string): Rules {
    const kind = subjectKindOf(subject);
    let rules = this.rulesByKind.get(kind);
    if (rules === undefined) {
      rules = rulesFor(kind, this.policy, this.limits, this.source.skew_margin_ms);
      this.rulesByKind.set(kind, rules);
    }
    return rules;
  }

  decisionContext(subject: string): DecisionContext {
    return {
      now_ms: this.now_ms,
      rules: this.rulesOf(subject),
      claimIdOf: this.claimIdOf(subject),
    };
  }

  claimIdOf(subject: string): ClaimIdOf {
    return claimIdDeriver(this.source.claimIdSecret, subject);
  }

  /** A session by its subject and its record. An operation asks for the same one again and again. */
  lookUpSession(session_id: string): SessionLookup {
    if (this.cachedSession?.session_id !== session_id) {
      const subject = sessionSubject(session_id);
      this.cachedSession = { session_id, subject, record: this.record(subject) };
    }
    return this.cachedSession;
  }

  /** A desk to try things on, whose trials this one sees only once it accepts them. */
  fork(): DecisionView {
    const overlay = new Overlay();
    for (const [subject, head] of this.overlay.heads) overlay.heads.set(subject, head);
    for (const [id, untilMs] of this.overlay.sessionUntilMs) overlay.sessionUntilMs.set(id, untilMs);
    const forked = new DecisionView(this.source, this.now_ms, overlay);
    forked.beginOperation(this.exhaustedLimit);
    return forked;
  }

  merge(forked: DecisionView): void {
    for (const head of forked.stagedHeads) this.stageHead(head);
    for (const { session_id, until_ms } of forked.stagedSessionUntil)
      this.stageSessionUntil(session_id, until_ms);
  }

  /** Resolves when what is on trial has come to its end. */
  settled(): Promise<void> {
    return this.source.settled();
  }

  /** An operation before this one is about to change this record. */
  hasPendingChange(subject: string): boolean {
    return this.overlay.heads.has(subject);
  }

  /**
   * Until when a session counts as active, given that it acts now: its idle time, and as long as the longest
   * of its leases, to the second. A lease that ended early may keep it counted a little longer, never shorter.
   */
  extendSessionUntilMs(sessionId: string, leaseUntilMs: number | null): number {
    const held = this.source.state.bySession.get(sessionId)?.size ?? 0;
    const remaining = leaseUntilMs === null ? held - 1 : held;
    const stagedMs = this.overlay.sessionUntilMs.get(sessionId) ?? 0;
    const committedMs =
      remaining > 0 ? (this.source.sessionUntilMs.get(sessionId) ?? this.heldClaimsUntilMs(sessionId)) : 0;
    const untilMs = ceilToSecond(Math.max(this.idleUntilMs, stagedMs, committedMs, leaseUntilMs ?? 0));
    this.stageSessionUntil(sessionId, untilMs);
    return untilMs;
  }

  /**
   * Until when a session counts that lost the work of this head without a word of its own: as if it had just acted, and
   * as long as what it still holds. Null: the store was told no longer than that.
   */
  shortenSessionUntilMs(head: Head): number | null {
    const sessionId = head.claim?.session_id ?? '';
    const claimUntilMs = permitHeldUntilMs(head, this.rulesOf(head.subject));
    if (claimUntilMs === null) return null;
    const stagedMs = this.overlay.sessionUntilMs.get(sessionId) ?? 0;
    const heldMs = this.heldClaimsUntilMs(sessionId, head.subject);
    const untilMs = ceilToSecond(Math.max(this.idleUntilMs, stagedMs, heldMs));
    const committedMs = this.source.sessionUntilMs.get(sessionId) ?? claimUntilMs;
    if (committedMs <= untilMs) return null;
    this.stageSessionUntil(sessionId, untilMs);
    return untilMs;
  }

  /** When a session that acts now, and holds nothing, is idle. */
  private get idleUntilMs(): number {
    return this.now_ms + this.limits.session_idle_seconds * 1000;
  }

  /** Whoever acts again within the second has its place already: the store was told, and it happened. */
  isSessionCountedUntil(sessionId: string, untilMs: number): boolean {
    return this.source.sessionUntilMs.get(sessionId) === untilMs;
  }

  private stageSessionUntil(session_id: string, until_ms: number): void {
    this.overlay.sessionUntilMs.set(session_id, until_ms);
    this.stagedSessionUntil.push({ session_id, until_ms });
  }

  /** From the heads of what it holds, but one. */
  private heldClaimsUntilMs(sessionId: string, exceptSubject?: string): number {
    const held = this.source.state.bySession.get(sessionId) ?? [];
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

export function policyFromRecord(record: RecordHead | null): Policy {
  return record === null ? DEFAULT_POLICY : { ...DEFAULT_POLICY, ...(record.value as Partial<Policy>) };
}
