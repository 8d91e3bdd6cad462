import type { Context } from '../core/claims/commands.js';
import { emptyHead, type Head } from '../core/claims/head.js';
import { occupiedUntilMs } from '../core/claims/lease.js';
import { DEFAULT_POLICY, type Limits, type Policy, type Rules, rulesFor } from '../core/claims/policy.js';
import type { AnyHead } from '../core/fold.js';
import type { RecordHead } from '../core/record.js';
import { kindOf, POLICY_SUBJECT, sessionSubject } from '../core/subject.js';
import type { WorkState } from '../core/views/index.js';
import type { ProjectKey } from '../stores/store.js';
import type { Environment } from './environment.js';
import { claimIds } from './identity.js';

export interface DeskSource {
  readonly key: ProjectKey;
  readonly state: WorkState;
  readonly rules_seq: number;
  readonly limits: Limits;
  readonly claim_key: string;
  readonly environment: Environment;
  readonly skew_margin_ms: number;
  readonly session_until: ReadonlyMap<string, number>;
}

/**
 * What an operation sees while its batch is decided: the project as the coordinator knows it, and on top of
 * it what the operations before it in the same batch are about to do. It only chooses what to try.
 */
export class Desk {
  private readonly tried = new Map<string, AnyHead>();
  /** What the operation at the desk has read of what others before it in the batch are about to do. */
  readonly stoodOn = new Set<string>();
  /** Until when sessions count once the operations before this one have happened. */
  private readonly triedUntil = new Map<string, number>();
  private policyRead: Policy | null = null;
  private readonly rulesByKind = new Map<string, Rules>();
  /** The limit that the store found full, for the operation now at the desk. */
  full: string | null = null;

  constructor(
    private readonly source: DeskSource,
    readonly now_ms: number,
  ) {}

  get key(): ProjectKey {
    return this.source.key;
  }
  get environment(): Environment {
    return this.source.environment;
  }
  get rules_seq(): number {
    return this.source.rules_seq;
  }
  get limits(): Limits {
    return this.source.limits;
  }
  get state(): WorkState {
    return this.source.state;
  }

  /** A head to decide on. Where it is only about to be, the operation stands on it, and its unit must check it. */
  head(subject: string): Head {
    if (this.tried.has(subject)) this.stoodOn.add(subject);
    return this.glimpse(subject);
  }

  /** A head to be guided by, where nothing is decided. */
  glimpse(subject: string): Head {
    const tried = this.tried.get(subject) as Head | undefined;
    return tried ?? this.source.state.heads.get(subject) ?? emptyHead(subject);
  }

  /** The next operation comes to the desk. `full`: the limit that the store found full for it. */
  begin(full: string | null): void {
    this.full = full;
    this.stoodOn.clear();
  }

  record(subject: string): RecordHead | null {
    const tried = this.tried.get(subject) as RecordHead | undefined;
    return tried ?? this.source.state.records.get(subject) ?? null;
  }

  /** What an agent may hold: what it is known to, and what the operations before this one are about to give it. */
  subjectsOf(agent_id: string): ReadonlySet<string> {
    const subjects = new Set(this.source.state.byAgent.get(agent_id));
    for (const [subject, head] of this.tried) {
      if ((head as Head).claim?.agent_id === agent_id) subjects.add(subject);
    }
    return subjects;
  }

  /** The next operation of the batch sees this head. */
  overlay(head: { subject: string }): void {
    this.tried.set(head.subject, head as AnyHead);
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
      claimIdOf: claimIds(this.source.claim_key, subject),
    };
  }

  session(session_id: string): Readonly<Record<string, unknown>> | null {
    return this.record(sessionSubject(session_id))?.value ?? null;
  }

  /** A desk to try things on, whose trials this one sees only once it accepts them. */
  aside(): Desk {
    const trial = new Desk(this.source, this.now_ms);
    trial.begin(this.full);
    for (const [subject, head] of this.tried) trial.tried.set(subject, head);
    for (const [session_id, until_ms] of this.triedUntil) trial.triedUntil.set(session_id, until_ms);
    return trial;
  }

  accept(trial: Desk): void {
    for (const [subject, head] of trial.tried) this.tried.set(subject, head);
    for (const [session_id, until_ms] of trial.triedUntil) this.triedUntil.set(session_id, until_ms);
  }

  /** An operation earlier in this batch is about to change this record. */
  isChanging(subject: string): boolean {
    return this.tried.has(subject);
  }

  /**
   * Until when a session counts as active, given that it acts now: its idle time, and as long as the longest
   * of its leases. A lease that ended early may keep it counted a little longer, never shorter.
   */
  sessionUntilMs(session_id: string, lease_until_ms: number | null): number {
    const idle_ms = this.now_ms + this.limits.session_idle_seconds * 1000;
    const held = this.source.state.bySession.get(session_id)?.size ?? 0;
    const remaining = lease_until_ms === null ? held - 1 : held;
    const tried_ms = this.triedUntil.get(session_id) ?? 0;
    const told_ms =
      remaining > 0 ? (this.source.session_until.get(session_id) ?? this.heldUntilMs(session_id)) : 0;
    const until_ms = Math.max(idle_ms, tried_ms, told_ms, lease_until_ms ?? 0);
    this.triedUntil.set(session_id, until_ms);
    return until_ms;
  }

  /** From the heads, for a session that acted before this coordinator began. */
  private heldUntilMs(session_id: string): number {
    const subjects = [...(this.source.state.bySession.get(session_id) ?? [])];
    return Math.max(0, ...subjects.map((id) => occupiedUntilMs(this.glimpse(id), this.rulesOf(id)) ?? 0));
  }
}

export function policyOf(record: RecordHead | null): Policy {
  return record === null ? DEFAULT_POLICY : { ...DEFAULT_POLICY, ...(record.value as Partial<Policy>) };
}
