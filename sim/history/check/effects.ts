import { type Fact, factOf } from '../../../src/core/claims/facts.js';
import type { EventEnvelope } from '../../../src/core/events/envelope.js';
import { type Asked, type Call, mayHaveHappened, type Operation } from '../history.js';
import { type Violation, violation } from './violation.js';

const FACT_OF: Readonly<Record<Operation, Fact>> = {
  claim: 'granted',
  renew: 'renewed',
  release: 'released',
  submit: 'accepted',
};
const FACTS: ReadonlySet<Fact | undefined> = new Set(Object.values(FACT_OF));

/** Which call led to which event, and who was told of it. */
export interface Effects {
  readonly violations: readonly Violation[];
  /** Of an event: the first call that may have led to it. It did not happen before that was invoked. */
  readonly askedBy: ReadonlyMap<EventEnvelope, Call>;
  /** Of an event: the first call that was told of it. It had happened when that returned. */
  readonly toldTo: ReadonlyMap<EventEnvelope, Call>;
  readonly byRequest: ReadonlyMap<string, readonly EventEnvelope[]>;
}

export function matchEffects(
  calls: readonly Call[],
  events: readonly EventEnvelope[],
  durable: boolean,
): Effects {
  const match = new Match(calls, events);
  match.judgeEffects();
  match.findWitnesses(durable);
  return match;
}

class Match implements Effects {
  readonly violations: Violation[] = [];
  readonly askedBy = new Map<EventEnvelope, Call>();
  readonly toldTo = new Map<EventEnvelope, Call>();
  readonly byRequest = new Map<string, EventEnvelope[]>();
  private readonly requests = new Map<string, Call[]>();
  /** What was done under a generation, once: released or accepted. */
  private readonly byHandle = new Map<string, EventEnvelope>();

  constructor(calls: readonly Call[], events: readonly EventEnvelope[]) {
    for (const call of calls) push(this.requests, call.asked.request_id, call);
    for (const event of events) {
      const fact = factOf(event.event_type);
      if (fact === undefined || !FACTS.has(fact)) continue;
      push(this.byRequest, event.request_id ?? '', event);
      this.byHandle.set(`${fact} ${event.subject} ${event.generation}`, event);
    }
  }

  /** From the log to the calls: everything in it was asked for, by somebody who was not told otherwise, and once. */
  judgeEffects(): void {
    for (const [request_id, effects] of this.byRequest) {
      const calls = this.requests.get(request_id) ?? [];
      const possible = calls.filter(mayHaveHappened);
      for (const effect of effects) {
        const [first] = possible;
        if (first !== undefined) this.askedBy.set(effect, first);
        if (calls[0] === undefined || !isOf(effect, calls[0].asked)) {
          this.say('UNASKED', `${nameOf(effect)} was never asked for so`, calls, [effect]);
        }
      }
      if (calls.length > 0 && possible.length === 0) {
        const names = effects.map(nameOf).join(' and ');
        this.say(
          'DONE_ALL_THE_SAME',
          `${names}, though no call of its request can have led to it`,
          calls,
          effects,
        );
      }
      // A renewal is a renewal each time it arrives; everything else takes effect once however often it does.
      const most = calls[0]?.asked.operation === 'renew' ? Math.max(possible.length, 1) : 1;
      if (calls.length > 0 && effects.length > most) {
        this.say('DOUBLED', `request ${request_id} took effect ${effects.length} times`, calls, effects);
      }
    }
  }

  /** From the calls to the log: whatever was told as done is there, as it was told. */
  findWitnesses(durable: boolean): void {
    for (const calls of this.requests.values()) {
      const renewals = new Set(calls[0]?.asked.operation === 'renew' ? this.effectsOf(calls[0]) : []);
      for (const call of calls) {
        if (call.answer.kind !== 'ok') continue;
        const witness =
          call.asked.operation === 'renew' ? renewalTold(renewals, call) : this.witnessOf(call.asked);
        if (witness !== undefined) this.hold(call, witness);
        else if (durable) {
          this.say('LOST', `${call.asked.operation} was told as done and is not in the log`, [call]);
        }
      }
    }
  }

  private effectsOf({ asked }: Call): readonly EventEnvelope[] {
    return this.byRequest.get(asked.request_id) ?? [];
  }

  /** A release or a submission that is repeated is answered by what the first one did, whichever request that was. */
  private witnessOf(asked: Asked): EventEnvelope | undefined {
    if (asked.operation === 'claim') return this.byRequest.get(asked.request_id)?.[0];
    return this.byHandle.get(`${FACT_OF[asked.operation]} ${asked.subject} ${asked.generation}`);
  }

  private hold(call: Call, witness: EventEnvelope): void {
    const wrong = difference(call, witness);
    if (wrong !== null) this.say('TOLD_WRONG', `${wrong}, says ${nameOf(witness)}`, [call], [witness]);
    const first = this.toldTo.get(witness);
    if (first === undefined || call.returned_ms < first.returned_ms) this.toldTo.set(witness, call);
  }

  private say(rule: Violation['rule'], says: string, calls: readonly Call[], events?: EventEnvelope[]): void {
    this.violations.push(violation(rule, says, calls, events));
  }
}

/**
 * Each renewal that was told has an event of its own, with the end of the lease that was told. Two of one request may tell
 * the same end, since none shortens a lease: which of them was this call's, nobody can say.
 */
function renewalTold(left: Set<EventEnvelope>, { answer }: Call): EventEnvelope | undefined {
  const told = answer.kind === 'ok' ? answer.told.expires_at : null;
  const [any] = left;
  const found = [...left].find(({ payload }) => payload.expires_at === told) ?? any;
  if (found !== undefined) left.delete(found);
  return found;
}

const isOf = (event: EventEnvelope, asked: Asked): boolean =>
  factOf(event.event_type) === FACT_OF[asked.operation] &&
  event.subject === asked.subject &&
  event.agent_id === asked.agent_id &&
  event.session_id === asked.session_id &&
  (asked.generation === null || event.generation === asked.generation) &&
  (asked.sha256 === null || event.payload.result_sha256 === asked.sha256);

function difference({ asked, answer }: Call, event: EventEnvelope): string | null {
  if (answer.kind !== 'ok') return null;
  const { told } = answer;
  if (event.session_id !== asked.session_id) return `it was not ${asked.session_id}`;
  if (asked.sha256 !== null && event.payload.result_sha256 !== asked.sha256) return 'it was another result';
  if (told.generation !== undefined && told.generation !== event.generation) {
    return `it was not generation ${told.generation}`;
  }
  if (told.expires_at !== undefined && told.expires_at !== event.payload.expires_at) {
    return `the lease did not end at ${told.expires_at}`;
  }
  return null;
}

export const nameOf = ({ position, event_type, subject, generation }: EventEnvelope): string =>
  `${event_type} of ${subject} generation ${generation} at position ${position}`;

function push<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
