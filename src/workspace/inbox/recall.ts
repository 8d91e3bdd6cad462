import { adviceFor } from '../../coordinator/advice.js';
import { readSubject } from '../../coordinator/operations/read.js';
import { isProblem } from '../../coordinator/problem.js';
import type { ClaimResult, RenewalResult, SubmissionResult } from '../../coordinator/wire.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Desk, Reply } from './ask.js';
import type { InboxCommand } from './command.js';

/**
 * The reply to a command that was decided before a crash, from the event it left; null where there is none. Grants and
 * told events are remembered by the coordinator. Everything else would be answered from the head, which may have moved
 * on with the commands of others in the same round: the log still knows.
 */
export async function recall({ coordinator, key }: Desk, command: InboxCommand): Promise<Reply | null> {
  const subject = command.subject === null ? null : readSubject(command.subject);
  if (subject === null || isProblem(subject)) return null;
  const events = await coordinator.queries.eventsOf(key, subject);
  const left = events.findLast(
    ({ event_type, request_id }) => request_id === command.request_id && REPLIES.has(event_type),
  );
  return left === undefined ? null : (REPLIES.get(left.event_type)?.(left) ?? null);
}

const REPLIES: ReadonlyMap<string, (event: EventEnvelope) => Reply> = new Map<
  string,
  (event: EventEnvelope) => Reply
>([
  ['heartbeat', renewed],
  ['edge_released', () => ({ success: true, reason: 'RELEASED' })],
  ['edge_converged', accepted],
  ['convergence_escalated', (event) => refusedResult(event, 'ESCALATED')],
  ['result_rejected', (event) => refusedResult(event, String(event.payload.rejection_reason))],
  ['claim_rejected', refusedClaim],
]);

function renewed({ payload }: EventEnvelope): RenewalResult {
  return { success: true, reason: 'RENEWED', new_expiry: payload.expires_at as string | null };
}

function accepted({ generation = 0, payload }: EventEnvelope): SubmissionResult {
  return {
    accepted: true,
    reason: 'ACCEPTED',
    current_generation: generation,
    work_lost: false,
    late: payload.late === true,
    work_product_ref: payload.work_product_ref as string,
    parked: null,
  };
}

function refusedResult({ generation = 0, payload }: EventEnvelope, reason: string): SubmissionResult {
  return {
    accepted: false,
    reason,
    current_generation: (payload.current_generation as number | undefined) ?? generation,
    work_lost: payload.work_lost === true,
    late: false,
    work_product_ref: null,
    parked: payload.parked === true ? (payload.result_id as string) : null,
    next: adviceFor(reason),
  };
}

function refusedClaim({ payload }: EventEnvelope): ClaimResult {
  const reason = String(payload.reason);
  const current_holder = (payload.holding_agent as string | undefined) ?? null;
  return { success: false, reason, claim: null, current_holder, next: adviceFor(reason) };
}
