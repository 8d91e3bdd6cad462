import type { ClaimIdOf, Context } from '../core/claims/commands.js';
import { emptyHead, type Head } from '../core/claims/head.js';
import { live, occupiedUntilMs } from '../core/claims/lease.js';
import { DEFAULT_POLICY, type Limits, type Policy, type Rules, rulesFor } from '../core/claims/policy.js';
import type { AnyHead } from '../core/fold.js';
import type { FeatureVector, Methodology } from '../core/graph/methodology.js';
import type { RecordHead } from '../core/record.js';
import {
  featureSubject,
  kindOf,
  METHODOLOGY_SUBJECT,
  POLICY_SUBJECT,
  sessionSubject,
} from '../core/subject.js';
import { subjectsOf, type WorkState } from '../core/views/index.js';
import type { ProjectKey, Room } from '../stores/store.js';
import type { Environment } from './environment.js';
import { claimIds } from './identity.js';
import { tenantRooms } from './rooms.js';

/** What operations that are decided, but not committed yet, are about to do. It only chooses what to try. */
export class Trial {
  readonly heads = new Map<string, AnyHead>();
  /** Until when sessions count once those operations have happened. */
  readonly session_until = new Map<string, number>();
}

export interface DeskSource {
  readonly key: ProjectKey;
  readonly state: WorkState;
  readonly rules_seq: number;
  readonly limits: Limits;
  readonly claim_key: string;
  readonly environment: Environment;
  readonly skew_margin_ms: number;
  readonly session_until: ReadonlyMap<string, number>;
  readonly hasOtherWriters: boolean;
  /** Resolves when everything decided until now has come to its end. */
  settled(): Promise<void>;
}

/**
 * What an operation sees while its batch is decided: the project as the coordinator knows it, and on top of
 * it what the operations before it, in this batch and in those under way, are about to do.
 */
export class Desk {
  /** What the operation at the desk has read of what others before it are about to do. */
  readonly stoodOn = new Set<string>();
  /** What was put on trial at this desk. */
  private readonly put: AnyHead[] = [];
  private readonly put_until: { readonly session_id: string; readonly until_ms: number }[] = [];
  readonly limits: Limits;
  private policyRead: Policy | null = null;
  private rooms: readonly Room[] | null = null;
  private readonly rulesByKind = new Map<string, Rules>();
  private session_seen: SessionSeen | null = null;
  /** The limit that the store found full, for the operation now at the desk. */
  full: string | null = null;

  constructor(
    private readonly source: DeskSource,
    readonly now_ms: number,
    private readonly trial = new Trial(),
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
  get tenantRooms(): readonly Room[] {
    this.rooms ??= tenantRooms(this.limits);
    return this.rooms;
  }
  get state(): WorkState {
    return this.source.state;
  }

  /** A head to decide on. Where it is only about to be, the operation stands on it, and its unit must check it. */
  head(subject: string): Head {
    const tried = this.trial.heads.get(subject) as Head | undefined;
    if (tried === undefined) return this.source.state.heads.get(subject) ?? emptyHead(subject);
    this.stoodOn.add(subject);
    return tried;
  }

  /** Whether anything ever happened to the subject, or is about to. */
  isKnownHead(subject: string): boolean {
    return this.trial.heads.has(subject) || this.source.state.heads.has(subject);
  }

  /** Whether others commit to the same store, whose commits are not known here yet. */
  get hasOtherWriters(): boolean {
    return this.source.hasOtherWriters;
  }

  /** A head to be guided by, where nothing is decided. */
  glimpse(subject: string): Head {
    const tried = this.trial.heads.get(subject) as Head | undefined;
    return tried ?? this.source.state.heads.get(subject) ?? emptyHead(subject);
  }

  /** The next operation comes to the desk. `full`: the limit that the store found full for it. */
  begin(full: string | null): void {
    this.full = full;
    this.session_seen = null;
    if (this.stoodOn.size > 0) this.stoodOn.clear();
  }

  record(subject: string): RecordHead | null {
    const tried = this.trial.heads.get(subject) as RecordHead | undefined;
    return tried ?? this.source.state.records.get(subject) ?? null;
  }

  /** What the project says of how it works, as it was read when it was configured; null: it never was. */
  get methodology(): Methodology | null {
    return (this.record(METHODOLOGY_SUBJECT)?.value as unknown as Methodology | undefined) ?? null;
  }

  feature(feature_id: string): FeatureVector | null {
    return (this.record(featureSubject(feature_id))?.value as unknown as FeatureVector | undefined) ?? null;
  }

  /** The edges that somebody holds, or is about to. To be guided by: who refuses because of one must check it. */
  heldEdges(): Head[] {
    const subjects = new Set([...this.source.state.live, ...this.trial.heads.keys()]);
    const edges = [...subjects].filter((subject) => kindOf(subject) === 'edge');
    return edges
      .map((subject) => this.glimpse(subject))
      .filter((head) => live(head, this.now_ms, this.rulesOf(head.subject)));
  }

  /** What an agent may hold: what it is known to, and what the operations before this one are about to give it. */
  subjectsOf(agent_id: string): ReadonlySet<string> {
    const subjects = new Set(subjectsOf(this.source.state, agent_id));
    for (const [subject, head] of this.trial.heads) {
      if ((head as Head).claim?.agent_id === agent_id) subjects.add(subject);
    }
    return subjects;
  }

  /** The operations after this one see this head. */
  overlay(head: { subject: string }): void {
    this.trial.heads.set(head.subject, head as AnyHead);
    this.put.push(head as AnyHead);
    this.session_seen = null;
  }

  /** The batch has come to its end, one way or the other: what it tried is known, or did not happen. */
  clear(): void {
    const { heads, session_until } = this.trial;
    for (const head of this.put) if (heads.get(head.subject) === head) heads.delete(head.subject);
    for (const { session_id, until_ms } of this.put_until) {
      if (session_until.get(session_id) === until_ms) session_until.delete(session_id);
    }
  }

  get policy(): Policy {
    this.policyRead ??= policyOf(this.record(POLICY_SUBJECT));
    return this.policyRead;
  }

  rulesOf(subject: string): Rules {
    const kind = kindOf(subject);
    let rules = this.rulesByKind.get(kind);
    if (rules === undefined) {
      rules = rulesFor(kind, this.policy, this.limits, this.source.skew_margin_ms);
      this.rulesByKind.set(kind, rules);
    }
    return rules;
  }

  context(subject: string): Context {
    return {
      now_ms: this.now_ms,
      rules: this.rulesOf(subject),
      claimIdOf: this.claimIdOf(subject),
    };
  }

  claimIdOf(subject: string): ClaimIdOf {
    return claimIds(this.source.claim_key, subject);
  }

  /** A session by its subject and its record. An operation asks for the same one again and again. */
  session(session_id: string): SessionSeen {
    if (this.session_seen?.session_id !== session_id) {
      const subject = sessionSubject(session_id);
      this.session_seen = { session_id, subject, record: this.record(subject) };
    }
    return this.session_seen;
  }

  /** A desk to try things on, whose trials this one sees only once it accepts them. */
  aside(): Desk {
    const trial = new Trial();
    for (const [subject, head] of this.trial.heads) trial.heads.set(subject, head);
    for (const [id, until_ms] of this.trial.session_until) trial.session_until.set(id, until_ms);
    const aside = new Desk(this.source, this.now_ms, trial);
    aside.begin(this.full);
    return aside;
  }

  accept(aside: Desk): void {
    for (const head of aside.put) this.overlay(head);
    for (const { session_id, until_ms } of aside.put_until) this.countUntil(session_id, until_ms);
  }

  /** Resolves when what is on trial has come to its end. */
  settled(): Promise<void> {
    return this.source.settled();
  }

  /** An operation before this one is about to change this record. */
  isChanging(subject: string): boolean {
    return this.trial.heads.has(subject);
  }

  /**
   * Until when a session counts as active, given that it acts now: its idle time, and as long as the longest
   * of its leases, to the second. A lease that ended early may keep it counted a little longer, never shorter.
   */
  sessionUntilMs(session_id: string, lease_until_ms: number | null): number {
    const held = this.source.state.bySession.get(session_id)?.size ?? 0;
    const remaining = lease_until_ms === null ? held - 1 : held;
    const tried_ms = this.trial.session_until.get(session_id) ?? 0;
    const told_ms =
      remaining > 0 ? (this.source.session_until.get(session_id) ?? this.heldUntilMs(session_id)) : 0;
    const until_ms = toTheSecond(Math.max(this.idleFromNowMs, tried_ms, told_ms, lease_until_ms ?? 0));
    this.countUntil(session_id, until_ms);
    return until_ms;
  }

  /**
   * Until when a session counts that lost the work of this head without a word of its own: as if it had just acted, and
   * as long as what it still holds. Null: the store was told no longer than that.
   */
  leftUntilMs(head: Head): number | null {
    const session_id = head.claim?.session_id ?? '';
    const occupied_ms = occupiedUntilMs(head, this.rulesOf(head.subject));
    if (occupied_ms === null) return null;
    const tried_ms = this.trial.session_until.get(session_id) ?? 0;
    const held_ms = this.heldUntilMs(session_id, head.subject);
    const until_ms = toTheSecond(Math.max(this.idleFromNowMs, tried_ms, held_ms));
    const told_ms = this.source.session_until.get(session_id) ?? occupied_ms;
    if (told_ms <= until_ms) return null;
    this.countUntil(session_id, until_ms);
    return until_ms;
  }

  /** When a session that acts now, and holds nothing, is idle. */
  private get idleFromNowMs(): number {
    return this.now_ms + this.limits.session_idle_seconds * 1000;
  }

  /** Whoever acts again within the second has its place already: the store was told, and it happened. */
  isCountedUntil(session_id: string, until_ms: number): boolean {
    return this.source.session_until.get(session_id) === until_ms;
  }

  private countUntil(session_id: string, until_ms: number): void {
    this.trial.session_until.set(session_id, until_ms);
    this.put_until.push({ session_id, until_ms });
  }

  /** From the heads of what it holds, but one. */
  private heldUntilMs(session_id: string, but?: string): number {
    const held = this.source.state.bySession.get(session_id) ?? [];
    const subjects = [...held].filter((subject) => subject !== but);
    return Math.max(0, ...subjects.map((id) => occupiedUntilMs(this.glimpse(id), this.rulesOf(id)) ?? 0));
  }
}

interface SessionSeen {
  readonly session_id: string;
  readonly subject: string;
  readonly record: RecordHead | null;
}

const toTheSecond = (at_ms: number): number => Math.ceil(at_ms / 1000) * 1000;

export function policyOf(record: RecordHead | null): Policy {
  return record === null ? DEFAULT_POLICY : { ...DEFAULT_POLICY, ...(record.value as Partial<Policy>) };
}
