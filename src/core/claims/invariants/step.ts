import { type EventDraft, msOf } from '../../events/envelope.js';
import type { Fact } from '../facts.js';
import type { ClaimState, Head } from '../head.js';
import { lapsesAtMs } from '../lease.js';
import type { Payloads, ResultFields } from '../payloads.js';
import type { Rules } from '../policy.js';

/** How a rule of this file reports: which invariant, and what it saw. */
export type Say = (invariant: string, says: string) => void;

/** One event and the head it found. */
export interface Step {
  readonly fact: Fact | undefined;
  readonly event: EventDraft;
  readonly before: Head;
  /** The rules in force then; null: not known, and what depends on them is not judged. */
  readonly rules: Rules | null;
}

/** What must hold of one event, given the fold of all before it. */
export function checkStep(step: Step, say: Say): void {
  checkCompletion(step, say);
  if (step.fact === 'granted') checkGrant(step, say);
  else checkFence(step, say);
  if (step.fact === 'lost') checkLoss(step, say);
  if (step.fact === 'reviewed') checkReview(step, say);
  if (step.fact === 'accepted' || step.fact === 'adopted') checkAcceptance(step, say);
}

/** What may still happen to a subject that is complete. */
const AFTER_COMPLETION: ReadonlySet<Fact> = new Set<Fact>(['reset', 'held', 'unheld']);

function checkCompletion({ fact, event, before }: Step, say: Say): void {
  if (before.phase !== 'COMPLETED' || fact === undefined || AFTER_COMPLETION.has(fact)) return;
  say('INV-16', `${event.event_type} came after completion; only a reset opens the subject again`);
}

function checkGrant({ event, before }: Step, say: Say): void {
  const generation = event.generation ?? 0;
  const { previous_generation } = event.payload as unknown as Payloads['granted'];
  if (generation < before.generation) {
    say('INV-01', `generation ${generation} was granted after generation ${before.generation}`);
  }
  if (generation !== before.generation + 1) {
    say(
      'INV-02',
      `the grant after generation ${before.generation} is ${before.generation + 1}, not ${generation}`,
    );
  }
  if (previous_generation !== before.generation) {
    say('INV-02', `the grant follows ${before.generation} but says it follows ${previous_generation}`);
  }
  if (before.claim !== null && isOpen(before.claim.state)) {
    say('INV-03', `granted to ${event.agent_id} while ${before.claim.agent_id} still held it`);
  }
}

const isOpen = (state: ClaimState): boolean => state === 'ACTIVE' || state === 'SUSPENDED';

/** In which states of the claim its holder, or a word about the holder's claim, may still count. */
const CLAIM_MUST_BE: Partial<Record<Fact, readonly ClaimState[]>> = {
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
/** Told by a human or by us about a subject: they name its generation and act under no session. */
const BY_OPERATOR: ReadonlySet<Fact> = new Set<Fact>(['reviewed', 'held', 'unheld', 'reset']);

function checkFence({ fact, event, before }: Step, say: Say): void {
  if (fact === undefined) return;
  if (event.generation !== before.generation) {
    say(
      'INV-05',
      `${event.event_type} carries generation ${event.generation}, the head had ${before.generation}`,
    );
  }
  const states = CLAIM_MUST_BE[fact];
  const { claim } = before;
  if (states !== undefined && (claim === null || !states.includes(claim.state))) {
    say('INV-05', `${event.event_type} about a claim that was ${claim?.state ?? 'never granted'}`);
  }
  if (BY_OPERATOR.has(fact) || claim === null) return;
  if (event.session_id !== claim.session_id || event.agent_id !== claim.agent_id) {
    say(
      'INV-05',
      `${event.event_type} by ${event.agent_id} (${event.session_id}), but ${claim.agent_id} held it`,
    );
  }
}

function checkLoss({ event, before, rules }: Step, say: Say): void {
  const loss = event.payload as unknown as Payloads['lost'];
  if (loss.disposition === 'held' || before.claim === null) return;
  if (loss.cause === 'SUPERSEDED') {
    if (loss.by === undefined) say('INV-04', 'superseded, and nobody is named who ordered it');
    return;
  }
  if (rules === null) return;
  const from_ms = lapsesAtMs(before.claim, rules) + rules.skew_margin_ms;
  if (msOf(event.timestamp) >= from_ms) return;
  const until = Number.isFinite(from_ms) ? new Date(from_ms).toISOString() : 'a human decides';
  say('INV-04', `taken from ${before.claim.agent_id} at ${event.timestamp}, held until ${until}`);
}

function checkReview({ event, before }: Step, say: Say): void {
  const { iteration, candidate_sha256 } = event.payload as unknown as Payloads['reviewed'];
  const { gate } = before;
  if (gate === null || gate.decision !== null) {
    say('INV-18', 'a review where nothing was waiting for one');
  } else if (gate.iteration !== iteration || gate.candidate_sha256 !== candidate_sha256) {
    say('INV-18', `the review is about ${candidate_sha256}, waiting was ${gate.candidate_sha256}`);
  }
}

function checkAcceptance({ fact, event, before }: Step, say: Say): void {
  const payload = event.payload as unknown as ResultFields;
  if (before.result !== null) {
    say('INV-06', `a second result in epoch ${before.epoch}; accepted was ${before.result.result_id}`);
  }
  const { gate } = before;
  if (fact === 'accepted' && gate !== null && gate.generation === before.generation) {
    if (gate.decision !== 'APPROVED' || gate.candidate_sha256 !== payload.result_sha256) {
      say('INV-18', `${payload.result_sha256} was accepted, and no human approved it`);
    }
  }
  const adopted = event.payload as unknown as Payloads['adopted'];
  const made_under = fact === 'adopted' ? adopted.adopted_from?.generation : event.generation;
  const stem = `wp-${before.subject}-gen${made_under}-`;
  const hash = payload.work_product_ref.slice(stem.length);
  // The reference carries the generation the work was made under and the beginning of its digest.
  if (!payload.work_product_ref.startsWith(stem) || hash === '' || !payload.result_sha256.startsWith(hash)) {
    say('INV-17', `${payload.work_product_ref} is not the work product of ${payload.result_sha256}`);
  }
}
