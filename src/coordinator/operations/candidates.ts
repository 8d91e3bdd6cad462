import type { ClaimHandle } from '../../core/claims/commands.js';
import { handleFault } from '../../core/claims/decide/handle.js';
import { signOfLife } from '../../core/claims/decide/sign-of-life.js';
import { adviceFor, type EvidenceRefusal, type ProposeRefusal } from '../../core/contract/codes.js';
import type { EvidenceResult, ProposeBody, ProposeResult } from '../../core/contract/runners.js';
import { hasBaseFault, type SignedEvidence, withEvidence } from '../../core/engine/evidence.js';
import { isoTime } from '../../core/events/envelope.js';
import { BASE_SUBJECT, candidateSubject, RUNNERS_SUBJECT } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import type { Operation } from '../queue/operation.js';
import type { TransactionBuilder } from '../queue/transaction-builder.js';
import { baseVersionOf, candidateOf, runnersOf } from './edge-evidence.js';
import { addAction, operationOf, type RequestFields, requestKeyOf } from './shared.js';

interface Proposal {
  readonly subject: string;
  readonly handle: ClaimHandle;
  readonly body: ProposeBody;
}

/**
 * Makes a manifest the candidate of its edge, for the holder of the edge only. Evidence about an earlier candidate is
 * dropped. Proposing the same candidate again keeps its evidence, unless some of it reports that a runner's base had other
 * files: then all of it is dropped, because the base may have been updated since.
 */
export const proposeCandidate = (proposal: Proposal, caller: Caller): Operation<ProposeResult> =>
  operationOf(
    'propose_candidate',
    requestKeyOf(caller, 'propose_candidate', proposal.body),
    (transaction) => {
      const refusal = proposeRefusal(transaction, proposal);
      if (refusal !== null) return refusedResult(refusal);
      const { subject, body } = proposal;
      const { view } = transaction;
      const { generation, claim } = view.head(subject);
      const { candidate_sha256, iteration = 1, session_id } = body;
      const by = claim?.agent_id ?? actorOf(caller);
      addSignOfLife(transaction, subject);
      transaction.checkRecord(candidateSubject(subject));
      const current = candidateOf(view, subject);
      const isAlreadyProposed =
        current?.generation === generation && current.candidate_sha256 === candidate_sha256;
      if (!isAlreadyProposed || hasBaseFault(current)) {
        const proposed_at = isoTime(view.now_ms);
        const record = { generation, candidate_sha256, iteration, session_id, proposed_at, evidence: [] };
        transaction.writeRecord(candidateSubject(subject), 'CANDIDATE_PROPOSED', record, by);
      }
      startBase(transaction, subject, by);
      transaction.markEffective();
      const base_version = baseVersionOf(view);
      return {
        success: true,
        reason: 'PROPOSED',
        task_id: subject,
        generation,
        candidate_sha256,
        base_version,
      };
    },
    proposal.body.request_id,
  );

function proposeRefusal(
  transaction: TransactionBuilder,
  { subject, handle }: Proposal,
): ProposeRefusal | null {
  const { view } = transaction.checkHead(subject);
  const head = view.head(subject);
  const fault = handleFault(head, handle, view.decisionContext(subject));
  if (fault !== null) return fault;
  return head.phase === 'COMPLETED' ? 'TASK_ALREADY_COMPLETED' : null;
}

function addSignOfLife(transaction: TransactionBuilder, subject: string): void {
  const { view } = transaction;
  const decision = signOfLife(view.head(subject), view.decisionContext(subject));
  if (decision.events.length > 0) addAction(transaction, decision);
}

/**
 * Creates the record of the base with the first candidate: from then on accepted results move the base. Results that are
 * being decided at the same moment must be decided again.
 */
function startBase(transaction: TransactionBuilder, edge: string, by: string): void {
  if (transaction.view.record(BASE_SUBJECT) !== null) return;
  transaction.invalidateConcurrentDecisions().writeRecord(BASE_SUBJECT, 'BASE_MOVED', { edge }, by);
}

/** Records what a runner has signed. The caller has verified the signature with `publicKey`, the runner's known key. */
export const recordEvidence = (
  evidence: SignedEvidence,
  publicKey: string,
  caller: Caller,
  requestFields: RequestFields,
): Operation<EvidenceResult> =>
  operationOf(
    'record_evidence',
    requestKeyOf(caller, 'record_evidence', { ...requestFields, ...{ evidence } }),
    (transaction) => {
      const { task_id: subject } = evidence.statement;
      const refusal = evidenceRefusal(transaction, evidence, publicKey);
      if (refusal !== null) return refusedResult(refusal);
      const candidate = candidateOf(transaction.view, subject);
      const isAlreadyRecorded =
        candidate?.evidence.some(({ signature }) => signature === evidence.signature) === true;
      if (candidate !== null && !isAlreadyRecorded) {
        const record = withEvidence(candidate, evidence);
        transaction.writeRecord(candidateSubject(subject), 'EVIDENCE_RECORDED', record, actorOf(caller));
      }
      return { success: true, reason: 'RECORDED', task_id: subject };
    },
    requestFields.request_id,
  );

/** Why evidence is refused; null if it is not. The transaction checks what is read here, so that no refusal is stale. */
function evidenceRefusal(
  transaction: TransactionBuilder,
  { statement }: SignedEvidence,
  publicKey: string,
): EvidenceRefusal | null {
  const { task_id: subject, generation, candidate_sha256, base_version, runner_id } = statement;
  for (const record of [RUNNERS_SUBJECT, candidateSubject(subject), BASE_SUBJECT])
    transaction.checkRecord(record);
  const { view } = transaction.checkHead(subject);
  const runner = runnersOf(view)[runner_id];
  if (runner === undefined || runner.public_key !== publicKey) return 'UNKNOWN_RUNNER';
  if (runner.state === 'revoked') return 'RUNNER_REVOKED';
  const head = view.head(subject);
  const candidate = candidateOf(view, subject);
  const isWaiting =
    candidate !== null &&
    candidate.generation === generation &&
    candidate.candidate_sha256 === candidate_sha256 &&
    head.generation === generation &&
    head.phase !== 'COMPLETED';
  if (!isWaiting) return 'NO_CANDIDATE';
  return base_version === baseVersionOf(view) ? null : 'BASE_MOVED';
}

const refusedResult = <Reason extends ProposeRefusal | EvidenceRefusal>(reason: Reason) =>
  ({ success: false, reason, next: adviceFor(reason) }) as const;
