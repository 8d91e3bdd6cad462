import { type Fact, factOf } from '../../core/claims/facts.js';
import type { Payloads, ResultFields } from '../../core/claims/payloads.js';
import { isTold } from '../../core/events/catalogue.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { isImported } from '../../core/events/imported.js';

/** The commands by which a remote hears what was done without it. */
export type Verb = 'claim' | 'submit' | 'release' | 'suspend' | 'resume' | 'review' | 'note' | 'append';

export interface RemoteHandle {
  readonly generation: number;
  /** Absent where the claim was granted by the remote itself, and its holder alone knows it. */
  readonly claim_id?: string;
}

export type TailStep =
  | { readonly kind: 'send'; readonly verb: Verb; readonly body: Record<string, unknown> }
  | { readonly kind: 'import' }
  /** It follows from what is sent, or was of this place and this time alone. */
  | { readonly kind: 'skip' }
  | { readonly kind: 'not_sent'; readonly because: string };

const PERSON = 'a person decided this here: decide it there too';
const SETTING = 'a setting of this place: set it there too';
const skip: TailStep = { kind: 'skip' };

/** What the remote is to be told of an event, under the handle that it knows the claim by. */
export function stepFor(event: EventEnvelope, handle: RemoteHandle): TailStep {
  const { event_type, subject, payload } = event;
  if (subject === undefined && isImported(payload)) return { kind: 'import' };
  if (isTold(event_type)) return send('append', appendBody(event, handle));
  const fact = factOf(event_type);
  if (fact !== undefined && subject !== undefined) return FOR_FACT[fact](event, handle);
  if (RECORDED_BY_FILES.has(event_type) || event_type.startsWith('SESSION_')) return skip;
  return { kind: 'not_sent', because: subject === undefined ? `nobody tells ${event_type}` : SETTING };
}

/** The files of the workspace say the same, and are sent before everything else. */
const RECORDED_BY_FILES: ReadonlySet<string> = new Set(['METHODOLOGY_CHANGED', 'FEATURE_CHANGED']);

type ToStep = (event: EventEnvelope, handle: RemoteHandle) => TailStep;
const notSent =
  (because: string): ToStep =>
  () => ({ kind: 'not_sent', because });
const skipped: ToStep = () => skip;

const FOR_FACT: Readonly<Record<Fact, ToStep>> = {
  granted: (event) => send('claim', claimBody(event)),
  accepted: submission,
  // Without a seq it is a warning that came with the result.
  escalated: (event, handle) => (event.seq === undefined ? skip : submission(event, handle)),
  released: (event, handle) => {
    const { reason, message } = event.payload as unknown as Payloads['released'];
    if (reason === 'FORCED') return { kind: 'not_sent', because: PERSON };
    return send('release', {
      ...holderOf(event, handle),
      expected_generation: handle.generation,
      reason: reason === 'ERROR' ? 'ERROR' : 'VOLUNTARY',
      ...given({ message: message === '' ? undefined : message }),
    });
  },
  suspended: (event, handle) => {
    const { gate } = event.payload as unknown as Payloads['suspended'];
    return send('suspend', { ...holderOf(event, handle), expected_generation: handle.generation, ...gate });
  },
  resumed: (event, handle) =>
    send('resume', { ...holderOf(event, handle), expected_generation: handle.generation }),
  reviewed: (event, { generation }) => {
    const { decision, iteration, candidate_sha256, comment } =
      event.payload as unknown as Payloads['reviewed'];
    const said = { decision, iteration, candidate_sha256, ...given({ comment }) };
    return send('review', { task_id: event.subject, generation, ...said, request_id: event.event_id });
  },
  noted: (event, handle) => {
    const { text } = event.payload as unknown as Payloads['noted'];
    return send('note', { ...holderOf(event, handle), generation: handle.generation, text });
  },
  renewed: skipped,
  lost: skipped,
  warned: skipped,
  claim_denied: skipped,
  result_denied: notSent('it was refused here, and is kept here'),
  adopted: notSent(PERSON),
  held: notSent(PERSON),
  unheld: notSent(PERSON),
  reset: notSent(PERSON),
};

const send = (verb: Verb, body: Record<string, unknown>): TailStep => ({ kind: 'send', verb, body });

function claimBody({ subject, agent_id, agent_role, session_id, payload, event_id }: EventEnvelope) {
  const { lease_duration_seconds, metadata } = payload as unknown as Payloads['granted'];
  return {
    task_id: subject,
    agent_id,
    session_id,
    ...given({ agent_role, metadata, lease_duration_seconds: lease_duration_seconds ?? undefined }),
    request_id: event_id,
  };
}

function submission(event: EventEnvelope, handle: RemoteHandle): TailStep {
  const { result_data, blob_sha256 } = event.payload as unknown as ResultFields;
  const { iteration, evaluators, convergence_type, context_hash } = event.payload;
  const evidence = { iteration, evaluators, convergence_type, context_hash };
  const body = {
    ...holderOf(event, handle),
    generation: handle.generation,
    ...given({ result_data: blob_sha256 === undefined ? result_data : undefined, blob_sha256, ...evidence }),
  };
  return send('submit', body);
}

function appendBody(event: EventEnvelope, { generation, claim_id }: RemoteHandle) {
  const { event_type, event_id, timestamp, task_id, feature_id, edge, agent_id, agent_role, session_id } =
    event;
  // Where it is sent to, another credential sends it.
  const { signature: _, principal: __, occurred_at = timestamp, ...payload } = event.payload;
  const held = event.generation === undefined ? {} : { generation, claim_id };
  return {
    event_type,
    event_id,
    occurred_at,
    agent_id,
    payload,
    ...given({ task_id, feature_id, edge, agent_role, session_id, ...held }),
  };
}

const holderOf = (event: EventEnvelope, { claim_id }: RemoteHandle) => ({
  task_id: event.subject,
  session_id: event.session_id,
  ...given({ claim_id }),
  request_id: event.event_id,
});

/** Without what is not said. */
function given<T extends object>(fields: T): Partial<{ [K in keyof T]: Exclude<T[K], undefined> }> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
