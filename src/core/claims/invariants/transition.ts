import { type EventDraft, msOf } from '../../events/envelope.js';
import type { ClaimEventKind } from '../claim-event-kinds.js';
import type { ClaimState, Head } from '../head.js';
import { lapsesAtMs } from '../lease.js';
import type { ClaimEventPayloads, ResultFields } from '../payloads.js';
import type { Rules } from '../policy.js';

/** Reports a violated invariant with a description of what was found. */
export type ReportViolation = (invariant: string, says: string) => void;

/** An event and the head before it. */
export interface HeadTransition {
  readonly kind: ClaimEventKind | undefined;
  readonly event: EventDraft;
  readonly before: Head;
  /** Rules in force at the event; null if unknown: checks that need them are skipped. */
  readonly rules: Rules | null;
}

/** Checks the invariants of one event against the fold of all earlier ones. */
export function checkTransition(transition: HeadTransition, report: ReportViolation): void {
  checkCompletion(transition, report);
  if (transition.kind === 'granted') checkGrant(transition, report);
  else checkFence(transition, report);
  if (transition.kind === 'lost') checkLoss(transition, report);
  if (transition.kind === 'reviewed') checkReview(transition, report);
  if (transition.kind === 'accepted' || transition.kind === 'adopted') checkAcceptance(transition, report);
}

/** Event kinds that may follow the completion of a subject. */
const KINDS_AFTER_COMPLETION: ReadonlySet<ClaimEventKind> = new Set<ClaimEventKind>([
  'reset',
  'held',
  'unheld',
]);

function checkCompletion({ kind, event, before }: HeadTransition, report: ReportViolation): void {
  if (before.phase !== 'COMPLETED' || kind === undefined || KINDS_AFTER_COMPLETION.has(kind)) return;
  report('INV-16', `${event.event_type} came after completion; only a reset opens the subject again`);
}

function checkGrant({ event, before }: HeadTransition, report: ReportViolation): void {
  const generation = event.generation ?? 0;
  const { previous_generation } = event.payload as unknown as ClaimEventPayloads['granted'];
  if (generation < before.generation) {
    report('INV-01', `generation ${generation} was granted after generation ${before.generation}`);
  }
  if (generation !== before.generation + 1) {
    report(
      'INV-02',
      `the grant after generation ${before.generation} is ${before.generation + 1}, not ${generation}`,
    );
  }
  if (previous_generation !== before.generation) {
    report('INV-02', `the grant follows ${before.generation} but says it follows ${previous_generation}`);
  }
  if (before.claim !== null && isOpenState(before.claim.state)) {
    report('INV-03', `granted to ${event.agent_id} while ${before.claim.agent_id} still held it`);
  }
}

const isOpenState = (state: ClaimState): boolean => state === 'ACTIVE' || state === 'SUSPENDED';

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
/** Events from a human or from the coordinator: they name the generation, but need not match the holder's session. */
const OPERATOR_KINDS: ReadonlySet<ClaimEventKind> = new Set<ClaimEventKind>([
  'reviewed',
  'held',
  'unheld',
  'reset',
]);

function checkFence({ kind, event, before }: HeadTransition, report: ReportViolation): void {
  if (kind === undefined) return;
  if (event.generation !== before.generation) {
    report(
      'INV-05',
      `${event.event_type} carries generation ${event.generation}, the head had ${before.generation}`,
    );
  }
  const states = ALLOWED_CLAIM_STATES[kind];
  const { claim } = before;
  if (states !== undefined && (claim === null || !states.includes(claim.state))) {
    report('INV-05', `${event.event_type} about a claim that was ${claim?.state ?? 'never granted'}`);
  }
  if (OPERATOR_KINDS.has(kind) || claim === null) return;
  if (event.session_id !== claim.session_id || event.agent_id !== claim.agent_id) {
    report(
      'INV-05',
      `${event.event_type} by ${event.agent_id} (${event.session_id}), but ${claim.agent_id} held it`,
    );
  }
}

function checkLoss({ event, before, rules }: HeadTransition, report: ReportViolation): void {
  const loss = event.payload as unknown as ClaimEventPayloads['lost'];
  if (loss.disposition === 'held' || before.claim === null) return;
  if (loss.cause === 'SUPERSEDED') {
    if (loss.by === undefined) report('INV-04', 'superseded, and nobody is named who ordered it');
    return;
  }
  if (rules === null) return;
  const fromMs = lapsesAtMs(before.claim, rules) + rules.skew_margin_ms;
  if (msOf(event.timestamp) >= fromMs) return;
  const until = Number.isFinite(fromMs) ? new Date(fromMs).toISOString() : 'a human decides';
  report('INV-04', `taken from ${before.claim.agent_id} at ${event.timestamp}, held until ${until}`);
}

function checkReview({ event, before }: HeadTransition, report: ReportViolation): void {
  const { iteration, candidate_sha256 } = event.payload as unknown as ClaimEventPayloads['reviewed'];
  const { gate } = before;
  if (gate === null || gate.decision !== null) {
    report('INV-18', 'a review where nothing was waiting for one');
  } else if (gate.iteration !== iteration || gate.candidate_sha256 !== candidate_sha256) {
    report('INV-18', `the review is about ${candidate_sha256}, waiting was ${gate.candidate_sha256}`);
  }
}

function checkAcceptance({ kind, event, before }: HeadTransition, report: ReportViolation): void {
  const payload = event.payload as unknown as ResultFields;
  if (before.result !== null) {
    report('INV-06', `a second result in epoch ${before.epoch}; accepted was ${before.result.result_id}`);
  }
  const { gate } = before;
  if (kind === 'accepted' && gate !== null && gate.generation === before.generation) {
    if (gate.decision !== 'APPROVED' || gate.candidate_sha256 !== payload.result_sha256) {
      report('INV-18', `${payload.result_sha256} was accepted, and no human approved it`);
    }
  }
  const adopted = event.payload as unknown as ClaimEventPayloads['adopted'];
  const sourceGeneration = kind === 'adopted' ? adopted.adopted_from?.generation : event.generation;
  const refPrefix = `wp-${before.subject}-gen${sourceGeneration}-`;
  const hash = payload.work_product_ref.slice(refPrefix.length);
  // The reference contains the generation that produced the work and a prefix of the digest.
  if (
    !payload.work_product_ref.startsWith(refPrefix) ||
    hash === '' ||
    !payload.result_sha256.startsWith(hash)
  ) {
    report('INV-17', `${payload.work_product_ref} is not the work product of ${payload.result_sha256}`);
  }
}
