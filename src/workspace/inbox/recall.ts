import type { Coordinator } from '../../coordinator/coordinator.js';
import { readSubject } from '../../coordinator/operations/read.js';
import { isProblem } from '../../coordinator/problem.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { ProjectKey } from '../../stores/store.js';
import type { Reply } from './ask.js';
import type { InboxCommand } from './command.js';

/**
 * The reply to a command that took effect before a crash, from the event it left; null where there is none. Claims and
 * told events are remembered by the coordinator. What a holder commands is answered from the head, which may have
 * moved on with the commands of others in the same round: the log still knows.
 */
export async function recall(
  coordinator: Coordinator,
  key: ProjectKey,
  command: InboxCommand,
): Promise<Reply | null> {
  const replyOf = REPLIES[command.event_type];
  const subject = replyOf === undefined ? null : readSubject(command.subject);
  if (replyOf === undefined || subject === null || isProblem(subject)) return null;
  const events = await coordinator.queries.eventsOf(key, subject);
  const left = events.findLast(
    ({ event_type, request_id }) => event_type === command.event_type && request_id === command.request_id,
  );
  return left === undefined ? null : replyOf(left);
}

const REPLIES: Readonly<Record<string, (event: EventEnvelope) => Reply>> = {
  heartbeat: ({ payload }) => ({
    success: true,
    reason: 'RENEWED',
    new_expiry: payload.expires_at as string | null,
  }),
  edge_released: () => ({ success: true, reason: 'RELEASED' }),
  edge_converged: ({ generation = 0, payload }) => ({
    accepted: true,
    reason: 'ACCEPTED',
    current_generation: generation,
    work_lost: false,
    late: payload.late === true,
    work_product_ref: payload.work_product_ref as string,
    parked: null,
  }),
};
