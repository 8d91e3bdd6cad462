import { adviceFor } from '../../coordinator/advice.js';
import { readSubject } from '../../coordinator/operations/read.js';
import { isProblem } from '../../coordinator/problem.js';
import type { ClaimResult, RenewalResult, SubmissionResult } from '../../coordinator/wire.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Desk, Reply } from './ask.js';
import type { InboxCommand } from './command.js';

/** More than a busy day's. Beyond it everything is forgotten, and read again from the log when it is asked for. */
const IDS_KEPT_MAX = 100_000;

/**
 * Which commands the log has decided already, so that none is decided twice: a crash may come between a decision and
 * the end of its file, a loss of power brings back files that were gone, and an agent that lost an outcome drops its
 * file again. Of each subject the log is read once; what is decided from then on is kept in mind.
 *
 * Grants and told events are remembered by the coordinator as well. Everything else it would answer from the head, which
 * may have moved on with the commands of others: the log still knows.
 */
export class Memory {
  private readonly bySubject = new Map<string, Promise<Set<string>>>();
  private ids = 0;

  constructor(private readonly desk: Desk) {}

  /** The reply to a command that was decided before, from the event it left; null where there is none. */
  async recall(command: InboxCommand): Promise<Reply | null> {
    const subject = subjectOf(command);
    if (subject === null || !(await this.idsOf(subject)).has(command.request_id)) return null;
    const left = (await this.eventsOf(subject)).findLast(
      ({ event_type, request_id }) => request_id === command.request_id && REPLIES.has(event_type),
    );
    return left === undefined ? null : (REPLIES.get(left.event_type)?.(left) ?? null);
  }

  async decided(command: InboxCommand): Promise<void> {
    const subject = subjectOf(command);
    const known = subject === null ? undefined : this.bySubject.get(subject);
    if (known !== undefined) (await known).add(command.request_id);
    this.ids += 1;
  }

  /** Nobody knows whether it was decided: only the log does. */
  unsure(command: InboxCommand): void {
    const subject = subjectOf(command);
    if (subject !== null) this.bySubject.delete(subject);
  }

  private idsOf(subject: string): Promise<Set<string>> {
    const known = this.bySubject.get(subject);
    if (known !== undefined) return known;
    if (this.ids > IDS_KEPT_MAX) {
      this.bySubject.clear();
      this.ids = 0;
    }
    const read = this.readIds(subject);
    this.bySubject.set(subject, read);
    read.catch(() => this.bySubject.delete(subject));
    return read;
  }

  private async readIds(subject: string): Promise<Set<string>> {
    const ids = new Set<string>();
    for (const { request_id } of await this.eventsOf(subject))
      if (request_id !== undefined) ids.add(request_id);
    this.ids += ids.size;
    return ids;
  }

  private eventsOf(subject: string): Promise<EventEnvelope[]> {
    const { coordinator, key } = this.desk;
    return coordinator.history.of(key, subject);
  }
}

function subjectOf(command: InboxCommand): string | null {
  const subject = command.subject === null ? null : readSubject(command.subject);
  return subject === null || isProblem(subject) ? null : subject;
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
