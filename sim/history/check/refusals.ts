import type { ClaimIdOf, ClaimsCommand, Decision } from '../../../src/core/claims/commands.js';
import { decide } from '../../../src/core/claims/decide.js';
import { lapsesAtMs } from '../../../src/core/claims/lease.js';
import { isoTime } from '../../../src/core/events/envelope.js';
import type { Asked, Call, Told } from '../history.js';
import type { Effects } from './effects.js';
import type { Past, State } from './past.js';
import type { Room } from './room.js';
import type { StoreClock } from './store-clock.js';
import { type Violation, violation } from './violation.js';

export interface Grounds {
  readonly past: Past;
  readonly effects: Effects;
  readonly room: Room;
  readonly clock: StoreClock;
}

const FULL = 'max_concurrent_claims';
const STATES_SHOWN_MAX = 4;

/**
 * A refusal is an answer like any other: the rules, applied to some state that the subject had between question and
 * answer, at some time of the store's clock in that span, say exactly this.
 */
export function checkRefusals(calls: readonly Call[], grounds: Grounds): Violation[] {
  const ids = claimIdsTold(calls);
  return calls.flatMap((call) => {
    if (call.answer.kind !== 'refused') return [];
    const { subject } = call.asked;
    const { first, last } = grounds.past.endsBetween(call.invoked_ms, call.returned_ms);
    const states = grounds.past
      .statesOf(subject, first, last)
      .filter(({ from }) => !isOwn(call, from, grounds));
    const span = { first, last, call };
    if (states.some((state) => justifies(state, span, grounds, ids(subject)))) return [];
    const shown = states.slice(0, STATES_SHOWN_MAX).map(describeState).join('; then ') || 'its own already';
    const says = `${call.asked.operation} of ${subject} was refused ${call.answer.reason}, and at no moment between question and answer was that so: it was ${shown}`;
    return [violation('NO_REASON', says, [call])];
  });
}

interface Span {
  readonly first: number;
  readonly last: number;
  readonly call: Call;
}

/** From where a claim took effect on, its request is answered with what it got. */
function isOwn({ asked }: Call, place: number, { past, effects }: Grounds): boolean {
  if (asked.operation !== 'claim' || place === 0) return false;
  const [grant] = effects.byRequest.get(asked.request_id) ?? [];
  return grant !== undefined && past.at(place).position >= grant.position;
}

function justifies(state: State, span: Span, grounds: Grounds, claimIdOf: ClaimIdOf): boolean {
  const { past, clock } = grounds;
  const { call } = span;
  const from_ms = clock.atLeast(Math.max(call.invoked_ms, past.earliest[state.from] as number));
  const to_ms = clock.atMost(Math.min(call.returned_ms, past.latest[state.to] ?? Number.POSITIVE_INFINITY));
  const rooms = wasFull(state, span, grounds) ? [null, FULL] : [null];
  return momentsOf(state, from_ms, to_ms).some((now_ms) =>
    rooms.some((full) => {
      const command = commandOf(call.asked, full);
      return saysSo(decide(state.head, command, { now_ms, rules: state.rules, claimIdOf }), call);
    }),
  );
}

/** Between two of these the rules say the same. */
function momentsOf({ head, rules }: State, from_ms: number, to_ms: number): number[] {
  const lapses_ms = head.claim === null ? null : lapsesAtMs(head.claim, rules);
  const turns = [lapses_ms, lapses_ms === null ? null : lapses_ms + rules.skew_margin_ms, head.retry_at_ms];
  const within = turns.filter((at_ms): at_ms is number => at_ms !== null && at_ms > from_ms && at_ms < to_ms);
  return [from_ms, ...within, to_ms];
}

/** Whether at some moment of this state in this span there was no room for one more claim. */
function wasFull(state: State, { first, last, call }: Span, { past, room, clock }: Grounds): boolean {
  for (let end = Math.max(state.from, first); end <= Math.min(state.to - 1, last); end += 1) {
    const since_ms = Math.max(call.invoked_ms, past.earliest[end] as number);
    if ((room.full_until[end] as number) > clock.atLeast(since_ms)) return true;
  }
  return false;
}

function saysSo({ ok, code, details, head }: Decision, { answer }: Call): boolean {
  if (answer.kind !== 'refused' || ok || code !== answer.reason) return false;
  const { generation, holder, expires_at, limit }: Told = answer.told;
  const ends = details.expires_at_ms == null ? null : isoTime(details.expires_at_ms);
  return (
    (generation === undefined || generation === head.generation) &&
    (holder === undefined || holder === (code === 'DENIED_ACTIVE_CLAIM' ? head.claim?.agent_id : null)) &&
    (expires_at === undefined || expires_at === ends) &&
    (limit === undefined || limit === details.limit)
  );
}

/** The command as the coordinator puts it to the rules. The plan of a run has no dependencies, and its sessions stay open. */
export function commandOf(asked: Asked, full: string | null): ClaimsCommand {
  const { operation, agent_id, session_id, lease_seconds, request_id, claim_id } = asked;
  const handle = { generation: asked.generation ?? 0, session_id, claim_id };
  switch (operation) {
    case 'claim': {
      const facts = { known: true, session_closed: false, waiting_for: [], inputs: null, full };
      const who = { agent_id, session_id, agent_role: null, user_id: null };
      return { type: 'claim', ...who, lease_seconds, request_id, metadata: null, facts };
    }
    case 'renew':
      return { type: 'renew', handle, lease_seconds };
    case 'release':
      return { type: 'release', handle, reason: 'VOLUNTARY', message: null };
    case 'submit':
      return { type: 'submit', handle, result: resultOf(asked), facts: NO_FACTS };
  }
}

const NO_FACTS = {
  inputs: null,
  past_grant: null,
  authority: 'granted',
  iteration: 1,
  parking_full: false,
  no_room: false,
} as const;

const resultOf = ({ sha256 }: Asked) => ({
  result_id: 'res',
  sha256: sha256 ?? '',
  size_bytes: 1,
  work_product_ref: 'wp',
});

/** Claim ids are derived with a secret: what they are is known from the grants that were told. */
function claimIdsTold(calls: readonly Call[]): (subject: string) => ClaimIdOf {
  const told = new Map<string, string>();
  for (const { asked, answer } of calls) {
    if (asked.operation !== 'claim' || answer.kind !== 'ok') continue;
    told.set(`${asked.subject} ${answer.told.generation}`, answer.told.claim_id ?? '');
  }
  return (subject) =>
    ({ generation }) =>
      told.get(`${subject} ${generation}`) ?? 'never told';
}

function describeState({ from, head, rules }: State): string {
  const { phase, generation, claim } = head;
  if (claim === null) return 'never claimed';
  const until_ms = lapsesAtMs(claim, rules);
  const until = Number.isFinite(until_ms) ? isoTime(until_ms) : 'for good';
  return `${phase}, generation ${generation} ${claim.state} by ${claim.agent_id} until ${until} (event ${from})`;
}
