import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { AppendBody } from '../../core/contract/events.js';
import type { RunEventPayload, RunEventType } from '../../core/engine/run-events.js';
import { coordinationError, type EdgeCoordination, isCoordinationFailure } from '../coordination.js';
import { engineError } from '../engine-error.js';

/** The executor of a run, as the author of its events. */
export interface RunAuthor {
  readonly subject: string;
  readonly agent_id: string;
  readonly session_id: string;
  /** Undefined if a decision on the candidate has ended the claim: then any executor may record the end of the run. */
  readonly claim_id: string | undefined;
  readonly generation: number;
}

/** Whether an event is recorded now, or an event with its id was recorded before, perhaps with other content. */
type AppendOutcome = 'appended' | 'already_recorded';

/**
 * Appends an event of a run. An event that is sent again is recorded once, because its id derives from its content: a run
 * begins and ends once, and a step is completed once with the same input, by the executor that is first. Rejects with
 * `Engine.ClaimLost` if the author no longer holds the edge.
 */
export async function appendRunEvent<Type extends RunEventType>(
  coordination: Pick<EdgeCoordination, 'appendEvent' | 'eventsOf'>,
  author: RunAuthor,
  event_type: Type,
  payload: RunEventPayload<Type>,
): Promise<AppendOutcome> {
  const { subject, claim_id, ...handle } = author;
  const event_id = runEventId(event_type, handle.generation, payload);
  const claim = claim_id === undefined ? {} : { claim_id };
  return appendOnce(coordination, { event_type, task_id: subject, ...handle, ...claim, event_id, payload });
}

/**
 * The id of the nth run of an edge under a claim. A request to start it that arrives late starts no second run, and only
 * the holder of the claim knows the id in advance.
 */
export const derivedRunId = (claimId: string, runs: number): string => derivedEventId(['run', claimId, runs]);

type IdentifiedBody = AppendBody & { readonly event_id: string; readonly task_id: string };

/**
 * Appends an event with a derived id. Other agents can derive the same id, and record another event under it. Then this
 * event gets an id that derives from the claim id, which only the holder knows; without a claim it gets a new id.
 */
export async function appendOnce(
  coordination: Pick<EdgeCoordination, 'appendEvent' | 'eventsOf'>,
  body: IdentifiedBody,
): Promise<AppendOutcome> {
  const outcome = await append(coordination, body);
  if (outcome === 'appended' || (await isRecorded(coordination, body))) return outcome;
  const { event_id, ...event } = body;
  if (event.claim_id === undefined) return append(coordination, event);
  return append(coordination, { ...event, event_id: derivedEventId([event_id, event.claim_id]) });
}

async function append(
  coordination: Pick<EdgeCoordination, 'appendEvent'>,
  body: AppendBody,
): Promise<AppendOutcome> {
  const reply = await coordination.appendEvent(body);
  if (isCoordinationFailure(reply)) {
    if (reply.code === 'IDEMPOTENCY_CONFLICT') return 'already_recorded';
    throw coordinationError(reply);
  }
  if (reply.success) return 'appended';
  throw engineError('claimLost', `${body.event_type} was refused: ${reply.reason}. ${reply.next}`);
}

const IDENTIFYING_FIELDS = ['run_id', 'step', 'iteration', 'input_sha256', 'candidate_sha256'];

/** Whether the event with this id records the same step on the same edge. */
async function isRecorded(
  coordination: Pick<EdgeCoordination, 'eventsOf'>,
  { event_id, event_type, task_id, payload }: IdentifiedBody,
): Promise<boolean> {
  const recordedEvent = (await coordination.eventsOf(task_id)).find((event) => event.event_id === event_id);
  if (recordedEvent?.event_type !== event_type) return false;
  return IDENTIFYING_FIELDS.every((field) => recordedEvent.payload[field] === payload[field]);
}

interface IdentifyingPayload {
  readonly run_id: string;
  readonly step?: string;
  readonly iteration?: number;
  readonly attempt?: number;
  readonly input_sha256?: string;
}

function runEventId(type: RunEventType, generation: number, payload: IdentifyingPayload): string {
  const { run_id, step = null, iteration = null, attempt = null, input_sha256 = null } = payload;
  if (type === 'run_started' || type === 'run_ended') return derivedEventId([run_id, type]);
  if (type === 'run_step_completed') return derivedEventId([run_id, type, step, iteration, input_sha256]);
  return derivedEventId([run_id, type, generation, step, iteration, attempt]);
}

/** An id that derives from the parts: a UUID of version 8, the version whose content the application chooses. */
export function derivedEventId(parts: readonly (string | number | null)[]): string {
  const hex = sha256Hex(canonicalJson([...parts]));
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
