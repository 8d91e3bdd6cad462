import type { ClaimEventPayloads } from '../../events/claim-payload-schemas.js';
import { type EventDraft, msOf } from '../../events/envelope.js';
import { asClaimEvent } from '../../events/known-event.js';
import { isImportedOrigin } from '../adopted-from.js';
import { type ClaimEventKind, claimEventKindOf } from '../claim-event-kinds.js';
import { nextGeneration } from '../generation.js';
import type { ClaimState, Head } from '../head.js';
import { isOpenClaim, lapsesAtMs } from '../lease.js';
import type { Rules } from '../policy.js';

/** Reports a violated invariant with a description of what was found. */
export type ReportViolation = (invariant: string, message: string) => void;

/** An event and the head before it. */
interface HeadTransition {
  readonly event: EventDraft;
  readonly before: Head;
  /** Rules in force at the event; null if they are unknown. Checks that need them are then skipped. */
  readonly rules: Rules | null;
}

type Check<Kind extends ClaimEventKind> = (
  payload: ClaimEventPayloads[Kind],
  transition: HeadTransition,
  report: ReportViolation,
) => void;

/** Checks the invariants of one event against the fold of all earlier ones. */
export function checkTransition(transition: HeadTransition, report: ReportViolation): void {
  const kind = claimEventKindOf(transition.event.event_type);
  if (kind === undefined) return;
  checkCompletion(kind, transition, report);
  if (kind !== 'granted') checkFence(kind, transition, report);
  const claimEvent = asClaimEvent(transition.event);
  switch (claimEvent?.kind) {
    case 'granted':
      checkGrant(claimEvent.payload, transition, report);
      break;
    case 'lost':
      checkLoss(claimEvent.payload, transition, report);
      break;
    case 'reviewed':
      checkReview(claimEvent.payload, transition, report);
      break;
    case 'accepted':
    case 'adopted':
      checkAcceptance(claimEvent.payload, transition, report);
  }
}

/** Event kinds that may follow the completion of a subject. */
const KINDS_AFTER_COMPLETION = new Set<ClaimEventKind>(['reset', 'held', 'unheld']);

function checkCompletion(kind: ClaimEventKind, transition: HeadTransition, report: ReportViolation): void {
  const { event, before } = transition;
  if (before.phase !== 'COMPLETED' || KINDS_AFTER_COMPLETION.has(kind)) return;
  report('INV-16', `${event.event_type} came after completion; only a reset reopens the subject`);
}

const checkGrant: Check<'granted'> = ({ previous_generation }, { event, before, rules }, report) => {
  const generation = event.generation ?? 0;
  if (generation < before.generation) {
    report('INV-01', `generation ${generation} was granted after generation ${before.generation}`);
  }
  const expected = rules === null ? before.generation + 1 : nextGeneration(before.generation, rules);
  if (generation !== expected) {
    report(
      'INV-02',
      `generation ${generation} follows generation ${before.generation}, expected ${expected}`,
    );
  }
  if (previous_generation !== before.generation) {
    report(
      'INV-02',
      `the grant follows generation ${before.generation} but names ${previous_generation} as the previous one`,
    );
  }
  if (before.claim !== null && isOpenClaim(before.claim)) {
    report('INV-03', `granted to ${event.agent_id} while ${before.claim.agent_id} still held the claim`);
  }
};

/** Claim states in which each kind of event is valid. */
const ALLOWED_CLAIM_STATES: Partial<Record<ClaimEventKind, readonly ClaimState[]>> = {
  renewed: ['ACTIVE'],
  resumed: ['SUSPENDED'],
  suspended: ['ACTIVE'],
  reviewed: ['SUSPENDED'],
  adopted: ['ACTIVE'],
  noted: ['ACTIVE', 'SUSPENDED', 'EXPIRED'],
  lost: ['ACTIVE', 'SUSPENDED'],
  released: ['ACTIVE', 'SUSPENDED', 'EXPIRED'],
  accepted: ['ACTIVE', 'SUSPENDED', 'EXPIRED'],
  escalated: ['ACTIVE', 'SUSPENDED', 'EXPIRED'],
};
/** Events from a person or from the coordinator: they name the generation, but need not match the holder's session. */
const OPERATOR_KINDS = new Set<ClaimEventKind>(['reviewed', 'held', 'unheld', 'reset']);

function checkFence(kind: ClaimEventKind, { event, before }: HeadTransition, report: ReportViolation): void {
  const type = event.event_type;
  if (event.generation !== before.generation) {
    report('INV-05', `${type} carries generation ${event.generation}, the head had ${before.generation}`);
  }
  const states = ALLOWED_CLAIM_STATES[kind];
  const { claim } = before;
  if (states !== undefined && (claim === null || !states.includes(claim.state))) {
    report('INV-05', `${type} about a claim that was ${claim?.state ?? 'never granted'}`);
  }
  if (OPERATOR_KINDS.has(kind) || claim === null) return;
  if (event.session_id !== claim.session_id || event.agent_id !== claim.agent_id) {
    report(
      'INV-05',
      `${type} by ${event.agent_id} (${event.session_id}), but ${claim.agent_id} held the claim`,
    );
  }
}

const checkLoss: Check<'lost'> = (loss, { event, before, rules }, report) => {
  if (loss.disposition === 'held' || before.claim === null) return;
  if (loss.cause === 'SUPERSEDED') {
    if (loss.by === undefined) report('INV-04', 'superseded without the name of an operator');
    return;
  }
  if (rules === null) return;
  const takeoverFromMs = lapsesAtMs(before.claim, rules) + rules.skew_margin_ms;
  if (msOf(event.timestamp) >= takeoverFromMs) return;
  const until = Number.isFinite(takeoverFromMs) ? new Date(takeoverFromMs).toISOString() : 'a person decides';
  const takeoverText = `the claim was taken from ${before.claim.agent_id} at ${event.timestamp}`;
  report('INV-04', `${takeoverText}, but was not due to lapse until ${until}`);
};

const checkReview: Check<'reviewed'> = ({ iteration, candidate_sha256 }, { before: { gate } }, report) => {
  if (gate === null || gate.decision !== null) {
    report('INV-18', 'a review without an open gate');
  } else if (gate.iteration !== iteration || gate.candidate_sha256 !== candidate_sha256) {
    report('INV-18', `the review is for ${candidate_sha256}, the gate for ${gate.candidate_sha256}`);
  }
};

const checkAcceptance: Check<'accepted' | 'adopted'> = (payload, { event, before }, report) => {
  if (before.result !== null) {
    report(
      'INV-06',
      `a second result was accepted in epoch ${before.epoch}, after ${before.result.result_id}`,
    );
  }
  const { gate } = before;
  const isAdoption = 'adopted_from' in payload;
  if (!isAdoption && gate !== null && gate.generation === before.generation) {
    if (gate.decision !== 'APPROVED' || gate.candidate_sha256 !== payload.result_sha256) {
      report('INV-18', `${payload.result_sha256} was accepted without approval by a person`);
    }
  }
  const refPrefix = `wp-${before.subject}-gen${sourceGeneration(payload, event)}-`;
  const hash = payload.work_product_ref.slice(refPrefix.length);
  // The reference contains the generation that produced the work and a prefix of the digest.
  if (
    !payload.work_product_ref.startsWith(refPrefix) ||
    hash === '' ||
    !payload.result_sha256.startsWith(hash)
  ) {
    report(
      'INV-17',
      `${payload.work_product_ref} is not the work product of the result ${payload.result_sha256}`,
    );
  }
};

/**
 * The generation that produced the work. For imported work it is the generation of the adoption, because the work had no
 * generation in this log before.
 */
function sourceGeneration(
  payload: ClaimEventPayloads['accepted' | 'adopted'],
  { generation }: EventDraft,
): number | undefined {
  if (!('adopted_from' in payload) || isImportedOrigin(payload.adopted_from)) return generation;
  return payload.adopted_from?.generation;
}
