import type { ClaimCommand, Decision } from '../../core/claims/commands.js';
import { decide } from '../../core/claims/decide.js';
import { evolve } from '../../core/claims/evolve.js';
import { factOf } from '../../core/claims/facts.js';
import { emptyHead } from '../../core/claims/head.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { RecordHead } from '../../core/record.js';
import { controlsSession, type SessionOwner } from '../../core/sessions.js';
import { kindOf } from '../../core/subject.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import { fenceSharing, isSingle, SINGLE_AGENT } from '../edge-facts.js';
import { claimFacts } from '../facts.js';
import type { Attempt, Operation } from '../operation.js';
import type { Problem } from '../problem.js';
import { claimResult, grantResult, refusedClaim } from '../render.js';
import { UnitBuilder } from '../unit-builder.js';
import type { ClaimBody, ClaimResult } from '../wire.js';
import { countSession, countTrackAgent, requestFor, requestOf } from './shared.js';

export interface ClaimRequest {
  readonly subject: string;
  readonly body: ClaimFields;
}

/** What a claim says beside its subject. */
type ClaimFields = Omit<ClaimBody, 'task_id' | 'feature_id' | 'edge' | 'with_briefing'>;

/** A refusal over dependencies stands on some of them being open when the store looked, not on all. */
const CHECKED_DEPENDENCIES_MAX = 20;
const DEFAULT_LEASE_SECONDS = 300;

export class ClaimOperation implements Operation<ClaimResult | Problem> {
  readonly kind = 'claim';
  readonly request;

  constructor(
    private readonly claim: ClaimRequest,
    private readonly caller: Caller,
  ) {
    const { request_id } = claim.body;
    this.request = request_id === undefined ? null : requestFor(caller, request_id, wordsOf(claim));
  }

  attempt(desk: Desk): Attempt<ClaimResult | Problem> {
    return attemptClaim(desk, this.claim, this.caller, this.request);
  }

  replay(events: readonly EventEnvelope[], desk: Desk): ClaimResult {
    return replayedClaim(events, desk, this.claim.subject);
  }
}

/** Several claims, each with its own fate, or all of them or none. */
export class AtomicClaimOperation implements Operation<readonly (ClaimResult | Problem)[]> {
  readonly kind = 'batch_claim';
  readonly request;

  constructor(
    private readonly claims: readonly ClaimRequest[],
    private readonly caller: Caller,
    request_id: string | undefined,
  ) {
    const asked = claims.map(({ subject, body: { signature: _, ...body } }) => ({ subject, body }));
    this.request = requestOf(caller, 'batch_claim', { ...{ claims: asked }, request_id });
  }

  attempt(desk: Desk): Attempt<readonly (ClaimResult | Problem)[]> {
    // Decided first on a desk of their own: a refused batch must leave no trace for its neighbours.
    const trial = desk.aside();
    const trialUnit = new UnitBuilder(trial);
    const decisions = this.claims.map((claim) => tryClaim(trial, trialUnit, claim, this.caller));
    if (decisions.every((decision) => decision.ok)) {
      desk.accept(trial);
      const reply = decisions.map((decision, at) => renderClaim(desk, decision, this.agentOf(at)));
      return { unit: trialUnit.build(this.request), reply };
    }
    const unit = new UnitBuilder(desk);
    for (const subject of trial.stoodOn) desk.head(subject);
    for (const decision of decisions) {
      unit.check(decision.head.subject, desk.head(decision.head.subject).seq);
      if (!decision.ok) fenceSharing(unit, desk, decision);
    }
    const reply = decisions.map((decision, at) =>
      decision.ok ? refusedClaim('DENIED_BATCH') : renderClaim(desk, decision, this.agentOf(at)),
    );
    return { unit: unit.build(this.request), reply };
  }

  private agentOf(at: number): string {
    return this.claims[at]?.body.agent_id ?? '';
  }

  replay(events: readonly EventEnvelope[], desk: Desk): ClaimResult[] {
    return this.claims.map(({ subject }) => replayedClaim(events, desk, subject));
  }
}

export function attemptClaim(
  desk: Desk,
  claim: ClaimRequest,
  caller: Caller,
  request: Operation<unknown>['request'],
): Attempt<ClaimResult | Problem> {
  const unit = new UnitBuilder(desk, claim.body.request_id ?? null);
  const decision = tryClaim(desk, unit, claim, caller);
  return { unit: unit.build(request), reply: renderClaim(desk, decision, claim.body.agent_id) };
}

/** Everything that a claim asks for, in one text. Only a role may have a line break in it. */
function wordsOf({ subject, body }: ClaimRequest): string {
  const { agent_id, session_id, lease_duration_seconds = '', agent_role = '', metadata } = body;
  const told = metadata === undefined ? '' : JSON.stringify(metadata);
  return `${subject}\n${agent_id}\n${session_id}\n${lease_duration_seconds}\n${told}\n${agent_role}`;
}

/** Decides one claim and puts what follows from it into the unit. */
export function tryClaim(desk: Desk, unit: UnitBuilder, claim: ClaimRequest, caller: Caller): Decision {
  const { subject, body } = claim;
  const command = claimCommand(desk, claim, caller);
  const decision = decide(desk.head(subject), command, desk.context(subject));
  if (decision.ok) {
    unit.session(body.session_id, body.agent_id, caller, desk.now_ms);
  }
  unit.decided(decision, body.signature);
  countSession(unit, desk, decision);
  countTrackAgent(unit, desk, decision);
  fenceSharing(unit, desk, decision);
  if (decision.code === 'SESSION_CLOSED') unit.session(body.session_id, body.agent_id, caller, desk.now_ms);
  if (decision.code === 'DENIED_DEPENDENCIES') {
    for (const id of command.facts.waiting_for.slice(0, CHECKED_DEPENDENCIES_MAX)) {
      unit.check(id, desk.head(id).seq);
    }
  }
  return decision;
}

export function claimCommand(desk: Desk, { subject, body }: ClaimRequest, caller: Caller): ClaimCommand {
  const is_edge = kindOf(subject) === 'edge';
  const alone = is_edge && isSingle(desk.methodology);
  const lease = is_edge ? desk.policy.claim_ttl_seconds : DEFAULT_LEASE_SECONDS;
  const session = desk.session(body.session_id).record;
  const address = caller.client_ip === null ? null : { client_ip: caller.client_ip };
  const metadata = body.metadata === undefined && address === null ? null : { ...body.metadata, ...address };
  const agent_role = body.agent_role ?? (alone ? SINGLE_AGENT.agent_role : null);
  return {
    type: 'claim',
    agent_id: body.agent_id,
    session_id: body.session_id,
    agent_role,
    user_id: caller.user_id ?? userOf(session, caller),
    // Who works alone has nobody to give way to.
    lease_seconds: alone ? null : (body.lease_duration_seconds ?? lease),
    request_id: body.request_id ?? null,
    metadata,
    facts: claimFacts(desk, subject, { agent_id: body.agent_id, agent_role }, session),
  };
}

/** The session's user counts for a caller without a user of its own, if the session is the caller's to use. */
function userOf(session: RecordHead | null, caller: Caller): string | null {
  if (session === null) return null;
  const owner = session.value as unknown as SessionOwner;
  return controlsSession(owner, caller) ? owner.user_id : null;
}

function renderClaim(desk: Desk, decision: Decision, agent_id: string): ClaimResult | Problem {
  if (!decision.ok) return claimResult(desk.key, decision, { id: '', agent_id });
  const { generation, claim, subject } = decision.next;
  const id = desk.claimIdOf(subject)({ generation, request_id: claim?.request_id ?? null });
  return claimResult(desk.key, decision, { id, agent_id });
}

/** The grant as it was told the first time, from the event that recorded it. */
export function replayedClaim(events: readonly EventEnvelope[], desk: Desk, subject?: string): ClaimResult {
  const granted = events.find(
    (event) => factOf(event.event_type) === 'granted' && (subject === undefined || event.subject === subject),
  );
  if (granted?.subject === undefined) throw new Error('a remembered grant has no event');
  const head = evolve(emptyHead(granted.subject), granted);
  const id = desk.claimIdOf(granted.subject)({
    generation: head.generation,
    request_id: granted.request_id ?? null,
  });
  return grantResult(desk.key, head, id);
}
