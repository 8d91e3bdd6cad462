import type { ClaimIdOf, Decision, SubjectCommand } from '../../../src/core/claims/commands.js';
import { decide } from '../../../src/core/claims/decide.js';
import { lapsesAtMs } from '../../../src/core/claims/lease.js';
import type { GrantLimit } from '../../../src/core/claims/reached-limit.js';
import { isoTime } from '../../../src/core/events/envelope.js';
import type { HistoryRequest, RecordedCall, RecordedReplyFields } from '../history.js';
import type { ClaimLimitCheck } from './claim-limit.js';
import type { CallEffects } from './effects.js';
import type { LogTimeline, SubjectState } from './log-timeline.js';
import type { ObservedStoreClock } from './store-clock.js';
import { type HistoryViolation, violation } from './violation.js';

interface RefusalEvidence {
  readonly timeline: LogTimeline;
  readonly effects: CallEffects;
  readonly limit: ClaimLimitCheck;
  readonly clock: ObservedStoreClock;
}

const LIMIT_NAME = 'max_concurrent_claims';
const STATES_SHOWN_MAX = 4;

/**
 * Every refusal is justified, and so is every resumed claim: for some state that the subject had between request and
 * reply, and some time of the store's clock in that span, the rules give exactly this answer.
 */
export function checkRefusals(calls: readonly RecordedCall[], evidence: RefusalEvidence): HistoryViolation[] {
  const claimIdsOf = claimIdsFromGrants(calls);
  return calls.flatMap((call) => {
    if (call.outcome.kind !== 'refused' && !isResumed(call)) return [];
    const { subject } = call.request;
    const { firstEnd, lastEnd } = evidence.timeline.possibleEnds(call.invoked_ms, call.returned_ms);
    const states = evidence.timeline
      .statesOf(subject, firstEnd, lastEnd)
      .filter(({ fromIndex }) => !isAfterOwnGrant(call, fromIndex, evidence));
    const window = { firstEnd, lastEnd, call };
    if (states.some((state) => justifies(state, window, evidence, claimIdsOf(subject)))) return [];
    const stateTexts =
      states.slice(0, STATES_SHOWN_MAX).map(describeState).join('; then ') || 'its own claim';
    const answer = call.outcome.kind === 'refused' ? `refused with ${call.outcome.reason}` : 'resumed';
    const message =
      `${call.request.operation} of ${subject} was ${answer}, ` +
      `which held at no time between request and reply: the state was ${stateTexts}`;
    return [violation('NO_REASON', message, [call])];
  });
}

interface CallWindow {
  /** The indexes at which the log may have ended during the call. */
  readonly firstEnd: number;
  readonly lastEnd: number;
  readonly call: RecordedCall;
}

/**
 * Whether the call is a claim whose own grant is at or before this index of the log. From there on, the same request gets
 * that grant as its reply, so these states justify no refusal.
 */
function isAfterOwnGrant(
  { request }: RecordedCall,
  logIndex: number,
  { timeline, effects }: RefusalEvidence,
): boolean {
  if (request.operation !== 'claim' || logIndex === 0) return false;
  const [grant] = effects.eventsByRequest.get(request.request_id) ?? [];
  return grant !== undefined && timeline.eventAt(logIndex).position >= grant.position;
}

function justifies(
  state: SubjectState,
  window: CallWindow,
  evidence: RefusalEvidence,
  claimIdOf: ClaimIdOf,
): boolean {
  const { timeline, clock } = evidence;
  const { call } = window;
  const fromMs = clock.earliestMs(Math.max(call.invoked_ms, timeline.earliestMs[state.fromIndex] as number));
  const toMs = clock.latestMs(
    Math.min(call.returned_ms, timeline.latestMs[state.toIndex] ?? Number.POSITIVE_INFINITY),
  );
  const limits = wasLimitReached(state, window, evidence) ? ([null, LIMIT_NAME] as const) : [null];
  return decisiveTimesMs(state, fromMs, toMs).some((now_ms) =>
    limits.some((reachedLimit) => {
      const command = commandOf(call.request, reachedLimit);
      const decision = decide(state.head, command, { now_ms, rules: state.rules, claimIdOf });
      return isResumed(call) ? matchesResumption(decision, call) : matchesRefusal(decision, call);
    }),
  );
}

/** Times at which the decision may change; between two of them the rules give the same result. */
function decisiveTimesMs({ head, rules }: SubjectState, fromMs: number, toMs: number): number[] {
  const lapsesMs = head.claim === null ? null : lapsesAtMs(head.claim, rules);
  const changePoints = [
    lapsesMs,
    lapsesMs === null ? null : lapsesMs + rules.skew_margin_ms,
    head.retry_at_ms,
  ];
  const within = changePoints.filter((atMs): atMs is number => atMs !== null && atMs > fromMs && atMs < toMs);
  return [fromMs, ...within, toMs];
}

/** Whether the limit of live claims was reached at some moment of this state within this window. */
function wasLimitReached(
  state: SubjectState,
  { firstEnd, lastEnd, call }: CallWindow,
  { timeline, limit, clock }: RefusalEvidence,
): boolean {
  for (let end = Math.max(state.fromIndex, firstEnd); end <= Math.min(state.toIndex - 1, lastEnd); end += 1) {
    const sinceMs = Math.max(call.invoked_ms, timeline.earliestMs[end] as number);
    if ((limit.fullUntilMs[end] as number) > clock.earliestMs(sinceMs)) return true;
  }
  return false;
}

const isResumed = ({ outcome }: RecordedCall): boolean =>
  outcome.kind === 'ok' && outcome.reply_fields.resumed === true;

function matchesResumption({ ok, details, head }: Decision, { outcome }: RecordedCall): boolean {
  if (outcome.kind !== 'ok' || !ok || details.replayed !== true) return false;
  const { generation, expires_at } = outcome.reply_fields;
  const expiresAtMs = head.claim?.expires_at_ms ?? null;
  return (
    generation === head.generation && expires_at === (expiresAtMs === null ? null : isoTime(expiresAtMs))
  );
}

function matchesRefusal({ ok, code, details, head }: Decision, { outcome }: RecordedCall): boolean {
  if (outcome.kind !== 'refused' || ok || code !== outcome.reason) return false;
  const { generation, holder, expires_at, limit }: RecordedReplyFields = outcome.reply_fields;
  const expectedExpiresAt = details.expires_at_ms == null ? null : isoTime(details.expires_at_ms);
  return (
    (generation === undefined || generation === head.generation) &&
    (holder === undefined || holder === (code === 'DENIED_ACTIVE_CLAIM' ? head.claim?.agent_id : null)) &&
    (expires_at === undefined || expires_at === expectedExpiresAt) &&
    (limit === undefined || limit === details.limit)
  );
}

/**
 * The command as the coordinator passes it to the rules. The plan of a run has no dependencies, and its sessions stay
 * open.
 */
export function commandOf(request: HistoryRequest, reachedLimit: GrantLimit | null): SubjectCommand {
  const { operation, agent_id, session_id, lease_seconds, request_id, claim_id } = request;
  const handle = { generation: request.generation ?? 0, session_id, claim_id };
  switch (operation) {
    case 'claim': {
      const facts = {
        is_known_subject: true,
        is_session_closed: false,
        waiting_for: [],
        inputs: null,
        reached_limit: reachedLimit,
      };
      const claimant = { agent_id, session_id, agent_role: null, user_id: null };
      // Without credentials there is one principal, which opened every session.
      const resume = request.resume === true ? { resume: OPEN_PRINCIPAL } : {};
      return { type: 'claim', ...claimant, lease_seconds, request_id, metadata: null, facts, ...resume };
    }
    case 'renew':
      return { type: 'renew', handle, lease_seconds };
    case 'release':
      return { type: 'release', handle, reason: 'VOLUNTARY', message: null };
    case 'submit':
      return { type: 'submit', handle, result: resultOf(request), facts: SUBMIT_FACTS, sender: 'open' };
  }
}

const OPEN_PRINCIPAL = { principal: 'open', session_principal: 'open', agent_role: null };

const SUBMIT_FACTS = {
  inputs: null,
  past_grant: null,
  authority: 'granted',
  iteration: 1,
  is_parking_full: false,
  is_permit_limit_reached: false,
} as const;

const resultOf = ({ sha256 }: HistoryRequest) => ({
  result_id: 'res',
  sha256: sha256 ?? '',
  size_bytes: 1,
  work_product_ref: 'wp',
});

/** Claim ids are derived from a secret, so they are known only from the replies to granted claims. */
function claimIdsFromGrants(calls: readonly RecordedCall[]): (subject: string) => ClaimIdOf {
  const idByGrant = new Map<string, string>();
  for (const { request, outcome } of calls) {
    if (request.operation !== 'claim' || outcome.kind !== 'ok') continue;
    idByGrant.set(
      `${request.subject} ${outcome.reply_fields.generation}`,
      outcome.reply_fields.claim_id ?? '',
    );
  }
  return (subject) =>
    ({ generation }) =>
      idByGrant.get(`${subject} ${generation}`) ?? 'never told';
}

function describeState({ fromIndex, head, rules }: SubjectState): string {
  const { phase, generation, claim } = head;
  if (claim === null) return 'never claimed';
  const untilMs = lapsesAtMs(claim, rules);
  const until = Number.isFinite(untilMs) ? isoTime(untilMs) : 'a person frees it';
  return `${phase}, generation ${generation} ${claim.state} by ${claim.agent_id} until ${until} (event ${fromIndex})`;
}
