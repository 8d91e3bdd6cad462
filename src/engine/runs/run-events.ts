import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { AppendBody } from '../../core/contract/events.js';
import type { RunEventPayload, RunEventType } from '../../core/engine/run-events.js';
import { type EdgeCoordination, isUnanswered, unansweredError } from '../coordination.js';
import { engineError } from '../engine-error.js';

/** The executor of a run, as the author of its events. */
export interface RunAuthor {
  readonly subject: string;
  readonly agent_id: string;
  readonly session_id: string;
  /** Undefined if the claim has ended: then anybody may tell how the run has. */
  readonly claim_id: string | undefined;
  readonly generation: number;
}

/**
 * Appends an event of a run. The same event sent again is recorded once, because its id derives from what it tells. Rejects
 * with `Engine.ClaimLost` if the author no longer holds the edge.
 */
export async function appendRunEvent<Type extends RunEventType>(
  coordination: Pick<EdgeCoordination, 'appendEvent'>,
  author: RunAuthor,
  event_type: Type,
  payload: RunEventPayload<Type>,
): Promise<void> {
  const { subject, claim_id, ...handle } = author;
  const event_id = runEventId(event_type, handle.generation, payload);
  const claim = claim_id === undefined ? {} : { claim_id };
  const body: AppendBody = { event_type, task_id: subject, ...handle, ...claim, event_id, payload };
  const reply = await coordination.appendEvent(body);
  if (isUnanswered(reply)) throw unansweredError(reply);
  if (!reply.success)
    throw engineError('claimLost', `${event_type} was refused: ${reply.reason}. ${reply.next}`);
}

interface Identified {
  readonly run_id: string;
  readonly step?: string;
  readonly iteration?: number;
  readonly attempt?: number;
}

/** A UUID of version 8, whose bits are free. */
function runEventId(type: RunEventType, generation: number, payload: Identified): string {
  const { run_id, step = null, iteration = null, attempt = null } = payload;
  const hex = sha256Hex(canonicalJson([run_id, type, generation, step, iteration, attempt]));
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
