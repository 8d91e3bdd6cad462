import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { ClaimCommand, Decision } from '../../core/claims/commands.js';
import { refuseWithBatch } from '../../core/claims/decide/claim.js';
import { decide } from '../../core/claims/decide.js';
import { evolve } from '../../core/claims/evolve.js';
import { emptyHead } from '../../core/claims/head.js';
import { defaultLeaseSeconds } from '../../core/claims/lease.js';
import type { ClaimBody } from '../../core/contract/claim-bodies.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { SINGLE_AGENT } from '../../core/methodology/single-agent.js';
import type { RecordHead } from '../../core/record.js';
import { canControlSession, type SessionOwner } from '../../core/sessions.js';
import { subjectKindOf } from '../../core/subject.js';
import type { Transaction } from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import { stepOf } from '../queue/direct-decision.js';
import type { Attempt, DirectDecision, NeedsFetch, Operation, RequestKey } from '../queue/operation.js';
import { RefusalRecorder } from '../queue/refusal-recorder.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Problem } from '../wire/problem.js';
import { fenceOverlappingGrants, isSingleAgentProject } from './edge-facts.js';
import { claimFacts } from './facts.js';
import { grantResult, refusedClaimResult, renderClaimResult } from './render.js';
import { refuseOtherOwner } from './session.js';
import { claimsOfSession, ownWorkAdvice } from './session-claims.js';
import { addAction, type RequestFields, requestKeyFromText, requestKeyOf } from './shared.js';

export interface ClaimRequest {
  readonly subject: string;
  readonly body: ClaimFields;
}

type ClaimFields = Omit<ClaimBody, 'task_id' | 'feature_id' | 'edge' | 'with_briefing'> & RequestFields;

/** Maximum number of open dependencies whose heads the transaction of a refusal checks. */
const CHECKED_DEPENDENCIES_MAX = 20;

export class ClaimOperation implements Operation<ClaimResult | Problem> {
  readonly kind = 'claim';
  readonly requestKey: RequestKey | null;
  private recorder: RefusalRecorder | null = null;

  constructor(
    private readonly claim: ClaimRequest,
    private readonly caller: Caller,
  ) {
    this.requestKey = claimRequestKey(claim, caller);
  }

  attempt(view: DecisionView): Attempt<ClaimResult | Problem> | NeedsFetch {
    const { claim, caller, requestKey } = this;
    this.recorder ??= new RefusalRecorder(caller, claim.body.request_id);
    return attemptClaim(view, claim, caller, requestKey, this.recorder);
  }

  /** The grant of a task in an open session, if nothing else has to be recorded with it. */
  decideDirectly(view: DecisionView): DirectDecision<ClaimResult | Problem> | null {
    const { claim, caller, requestKey } = this;
    const { subject, body } = claim;
    if (body.offline !== undefined || body.signature !== undefined || subjectKindOf(subject) !== 'task')
      return null;
    const session = view.lookUpSession(body.session_id).record;
    if (session === null || !canControlSession(session.value as unknown as SessionOwner, caller)) return null;
    const decision = decideClaim(view, claim, claimCommand(view, claim, caller));
    const step = stepOf(view, decision, requestKey, body.request_id);
    return step === null ? null : { decision, step, reply: renderClaim(view, decision, body.session_id) };
  }

  shouldRepeat(transaction: Transaction, positions: readonly (number | null)[]): boolean {
    return this.recorder?.shouldRepeat(transaction, positions) ?? false;
  }

  withdraw(): void {
    this.recorder?.withdraw();
  }

  replay(events: readonly EventEnvelope[], view: DecisionView): ClaimResult {
    return replayClaim(events, view, this.claim.subject);
  }
}

/** Several claims in one transaction: all are granted or none. */
export function atomicClaimOperation(
  claims: readonly ClaimRequest[],
  caller: Caller,
  request_id: string | undefined,
): Operation<readonly (ClaimResult | Problem)[]> {
  const unsignedClaims = claims.map(({ subject, body: { signature: _, signed_text: __, ...body } }) => ({
    subject,
    body,
  }));
  const requestKey = requestKeyOf(caller, 'batch_claim', { ...{ claims: unsignedClaims }, request_id });
  const recorder = new RefusalRecorder(caller, request_id);
  return {
    kind: 'batch_claim',
    requestKey,
    attempt: (view) => attemptAtomicClaim(view, claims, caller, { requestKey, request_id, recorder }),
    shouldRepeat: (transaction, positions) => recorder.shouldRepeat(transaction, positions),
    withdraw: () => recorder.withdraw(),
    replay: (events, view) =>
      claims.map((claim) =>
        events.some((event) => event.subject === claim.subject)
          ? replayClaim(events, view, claim.subject)
          : replayResumption(view, claim, caller),
      ),
  };
}

/** Repeats the reply for a claim that a batch resumed, which left no event: resumes it again if the session still holds it. */
function replayResumption(view: DecisionView, claim: ClaimRequest, caller: Caller): ClaimResult | Problem {
  const { subject, body } = claim;
  const command = claimCommand(view, claim, caller);
  const decision = decide(view.head(subject), command, view.decisionContext(subject));
  if (decision.details.replayed === true) return renderClaim(view, decision, body.session_id);
  const next = `The batch resumed the claim on ${subject}, which has ended since. Claim ${subject} again.`;
  return { ...refusedClaimResult('DENIED_BATCH'), next };
}

interface BatchRequest {
  readonly requestKey: RequestKey | null;
  readonly request_id: string | undefined;
  readonly recorder: RefusalRecorder;
}

function attemptAtomicClaim(
  view: DecisionView,
  claims: readonly ClaimRequest[],
  caller: Caller,
  { requestKey, request_id, recorder }: BatchRequest,
): Attempt<readonly (ClaimResult | Problem)[]> | NeedsFetch {
  const refusal = new TransactionBuilder(view);
  const forbidden = claims.map(({ body }) => refuseOtherOwner(refusal, body.session_id, caller));
  if (forbidden.some((problem) => problem !== null)) {
    const reply = forbidden.map((problem) => problem ?? refusedClaimResult('DENIED_BATCH'));
    return refusal.answer(null, reply);
  }
  const render = (decision: Decision, at: number) =>
    renderClaim(view, decision, claims[at]?.body.session_id ?? '');
  // Decide on a fork first, so that a refused batch leaves nothing in the view of the operations after it.
  const forked = view.fork();
  const forkedTransaction = new TransactionBuilder(forked);
  const decisions = claims.map((claim) => {
    const command = claimCommand(forked, claim, caller);
    const decision = decideClaim(forked, claim, command);
    addClaim(forkedTransaction, claim, caller, command, decision);
    return decision;
  });
  if (decisions.every((decision) => decision.ok)) {
    view.merge(forked);
    return { transaction: forkedTransaction.build(requestKey), reply: decisions.map(render) };
  }
  const refusals = decisions.map((decision, index) =>
    decision.ok ? batchRefusal(view, claims[index]!, caller) : decision,
  );
  const missing = recorder.missingCounts(view, refusals);
  if (missing !== null) return missing;
  // The events contain the request's id, so that a repeated request is recognized after a restart too.
  const transaction = new TransactionBuilder(view, request_id, recorder);
  for (const refusal of refusals) transaction.addRefusals(refusal);
  for (const subject of forked.readSet) view.head(subject);
  for (const decision of decisions) {
    transaction.checkHead(decision.head.subject);
    if (!decision.ok) fenceOverlappingGrants(transaction, decision);
  }
  const reply = decisions.map((decision, index) =>
    decision.ok ? refusedClaimResult('DENIED_BATCH') : render(decision, index),
  );
  return transaction.answer(requestKey, reply);
}

/** The refusal of a claim that is refused only because other claims of its batch are refused. */
function batchRefusal(view: DecisionView, claim: ClaimRequest, caller: Caller): Decision {
  const { subject } = claim;
  return refuseWithBatch(
    view.head(subject),
    claimCommand(view, claim, caller),
    view.decisionContext(subject),
  );
}

/** Decides one claim. `next` passes no recorder: it tries work that the caller did not name, so it records no refusal. */
export function attemptClaim(
  view: DecisionView,
  claim: ClaimRequest,
  caller: Caller,
  requestKey: RequestKey | null,
  recorder?: RefusalRecorder,
): Attempt<ClaimResult | Problem> | NeedsFetch {
  const transaction = new TransactionBuilder(view, claim.body.request_id, recorder, claim.body.offline);
  // The owner of a session can end its claims, so a caller must not claim in the session of another caller.
  const forbidden = refuseOtherOwner(transaction, claim.body.session_id, caller);
  if (forbidden !== null) return transaction.answer(null, forbidden);
  const command = claimCommand(view, claim, caller);
  const decision = decideClaim(view, claim, command);
  const missing = recorder?.missingCounts(view, [decision]) ?? null;
  if (missing !== null) return missing;
  addClaim(transaction, claim, caller, command, decision);
  return {
    transaction: transaction.build(requestKey),
    reply: renderClaim(view, decision, claim.body.session_id),
  };
}

function claimRequestKey(claim: ClaimRequest, caller: Caller): RequestKey | null {
  const { request_id, offline } = claim.body;
  if (offline !== undefined) return requestKeyOf(caller, claim.subject, claim.body);
  return request_id === undefined ? null : requestKeyFromText(caller, request_id, canonicalClaimText(claim));
}

/** All that a claim requests, as text for its digest. Unambiguous, because only the last field can have a line break. */
function canonicalClaimText({ subject, body }: ClaimRequest): string {
  const { agent_id, session_id, lease_duration_seconds = '', agent_role = '', metadata, resume } = body;
  const wanted = resume === true ? `resume ${subject}` : subject;
  const metadataText = metadata === undefined ? '' : JSON.stringify(metadata);
  return `${wanted}\n${agent_id}\n${session_id}\n${lease_duration_seconds}\n${metadataText}\n${agent_role}`;
}

const decideClaim = (view: DecisionView, { subject }: ClaimRequest, command: ClaimCommand): Decision =>
  decide(view.head(subject), command, view.decisionContext(subject));

/** Adds the outcome of one claim to the transaction. */
function addClaim(
  transaction: TransactionBuilder,
  { body }: ClaimRequest,
  caller: Caller,
  command: ClaimCommand,
  decision: Decision,
): void {
  if (decision.ok || decision.code === 'SESSION_CLOSED') {
    transaction.openOrCheckSession(body.session_id, body.agent_id, caller);
  }
  addAction(transaction, decision, body);
  fenceOverlappingGrants(transaction, decision);
  if (decision.code === 'DENIED_DEPENDENCIES') {
    const { waiting_for } = command.facts;
    for (const id of waiting_for.slice(0, CHECKED_DEPENDENCIES_MAX)) transaction.checkHead(id);
  }
}

export function claimCommand(
  view: DecisionView,
  { subject, body }: ClaimRequest,
  caller: Caller,
): ClaimCommand {
  const kind = subjectKindOf(subject);
  const isSingleAgent = kind === 'edge' && isSingleAgentProject(view.methodology);
  const session = view.lookUpSession(body.session_id).record;
  const clientFields = caller.client_ip === null ? null : { client_ip: caller.client_ip };
  const metadata =
    body.metadata === undefined && clientFields === null ? null : { ...body.metadata, ...clientFields };
  const agent_role = body.agent_role ?? (isSingleAgent ? SINGLE_AGENT.agent_role : null);
  return {
    type: 'claim',
    agent_id: body.agent_id,
    session_id: body.session_id,
    agent_role,
    user_id: caller.user_id ?? sessionUserOf(session, caller),
    ...principalFields(session, caller, body.resume === true),
    // In single-agent mode no other agent competes for the work, so the lease does not expire.
    lease_seconds: isSingleAgent
      ? null
      : (body.lease_duration_seconds ?? defaultLeaseSeconds(kind, view.rulesOf(subject))),
    request_id: body.request_id ?? null,
    metadata,
    facts: claimFacts(view, subject, { agent_id: body.agent_id, agent_role }, session),
  };
}

/** The principal that claims, unless it opened the session itself, and the facts that decide a resumption. */
function principalFields(
  session: RecordHead | null,
  { principal, agent_role }: Caller,
  shouldResume: boolean,
) {
  const owner = session?.value as unknown as SessionOwner | undefined;
  const session_principal = owner?.principal ?? null;
  const isOpener = session === null || session_principal === principal;
  return {
    ...(isOpener ? {} : { principal }),
    ...(shouldResume ? { resume: { principal, session_principal, agent_role } } : {}),
  };
}

/** The user of the session, for a caller that has no user itself. Null if the caller does not control the session. */
function sessionUserOf(session: RecordHead | null, caller: Caller): string | null {
  if (session === null) return null;
  const owner = session.value as unknown as SessionOwner;
  return canControlSession(owner, caller) ? owner.user_id : null;
}

function renderClaim(view: DecisionView, decision: Decision, session_id: string): ClaimResult | Problem {
  if (!decision.ok) {
    const refusal = renderClaimResult(view.key, decision, { id: '', session_id });
    const next = ownWorkAdvice(ownDependencies(view, decision, session_id));
    return next === null || !('next' in refusal) ? refusal : { ...refusal, next };
  }
  const { generation, claim, subject } = decision.next;
  const id = view.claimIdOf(subject)({ generation, request_id: claim?.request_id ?? null });
  return renderClaimResult(view.key, decision, { id, session_id });
}

/** The dependencies of a refused claim that the claiming session itself holds. */
function ownDependencies(view: DecisionView, { details }: Decision, sessionId: string): string[] {
  const { waiting_for = [] } = details;
  if (waiting_for.length === 0) return [];
  const ownSubjects = claimsOfSession(view, sessionId, 'ACTIVE').map(({ subject }) => subject);
  return ownSubjects.filter((subject) => waiting_for.includes(subject));
}

/** Rebuilds the original grant reply from its event. */
export function replayClaim(events: readonly EventEnvelope[], view: DecisionView, subject?: string) {
  const granted = events.find(
    (event) =>
      claimEventKindOf(event.event_type) === 'granted' &&
      (subject === undefined || event.subject === subject),
  );
  if (granted?.subject === undefined) throw new Error('the stored request of a grant has no event');
  const head = evolve(emptyHead(granted.subject), granted);
  const id = view.claimIdOf(granted.subject)({
    generation: head.generation,
    request_id: granted.request_id ?? null,
  });
  return grantResult(view.key, head, id);
}
