import type { Caller } from '../../coordinator/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { readSubject } from '../../coordinator/operations/read.js';
import { isProblem, type Problem, problem } from '../../coordinator/problem.js';
import type {
  AppendResult,
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../coordinator/wire.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import {
  convergeFromDrafts,
  type DraftRefusal,
  type Isolation,
  isRefusal,
  type Log,
  type ProjectPlace,
  type WorktreeOf,
} from '../drafts/index.js';
import type { InboxCommand } from './command.js';
import { isInboxSession, ownSession } from './names.js';

/** Where the files of a grant are to lie. */
type Placed = ClaimResult & { readonly work?: string; readonly scratch?: string };

export type Reply = Placed | RenewalResult | ReleaseResult | SubmissionResult | AppendResult | Problem;

/** Who decides, and where the files of agents come from and go to. */
export interface Desk extends Log {
  readonly coordinator: Coordinator;
  readonly place: ProjectPlace;
  /** Makes the folders of a grant. */
  readonly isolate?: (grant: WorktreeOf) => Promise<Isolation | DraftRefusal>;
  /** Clears them away where nothing is lost; a sentence: they are kept, and why. */
  readonly tidy?: (grant: WorktreeOf) => Promise<string | null>;
}

/** The same rules as over HTTP: the coordinator's own operations decide. */
export async function ask(desk: Desk, command: InboxCommand): Promise<Reply> {
  const { coordinator, key } = desk;
  const { body } = command;
  const fault = sessionFault(command);
  if (fault !== null) return fault;
  const caller = callerOf(command);
  switch (command.kind) {
    case 'claim':
      return workplace(desk, await coordinator.claimTask(key, body, caller));
    case 'renew':
      return coordinator.renewLease(key, body, caller);
    case 'release':
      return tidied(desk, command, await coordinator.releaseClaim(key, body, caller));
    case 'submit':
      return tidied(desk, command, await submit(desk, command, caller));
    case 'append':
      return coordinator.appendEvent(key, body, caller);
  }
}

/** A grant tells where its files are to lie. That they cannot be made there is no reason to take the grant back. */
async function workplace(desk: Desk, reply: ClaimResult | Problem): Promise<Reply> {
  if (desk.isolate === undefined || isProblem(reply) || reply.claim === null || !reply.success) return reply;
  const { agent_id, task_id: subject, generation } = reply.claim;
  const made = await desk.isolate({ agent_id, subject, generation });
  return isRefusal(made) ? reply : { ...reply, work: made.work, scratch: made.scratch };
}

/** A grant that the log has already, told as it was when it was given. */
export const grantedBefore = async (desk: Desk, granted: EventEnvelope): Promise<Reply> =>
  workplace(desk, await desk.coordinator.grantOf(desk.key, granted));

const submit = (desk: Desk, command: InboxCommand, caller: Caller): Promise<Reply> =>
  hasResult(command.body)
    ? desk.coordinator.submitResult(desk.key, command.body, caller)
    : converge(desk, command, caller);

/** The grant has ended, and with it the use of its worktree. */
async function tidied(desk: Desk, { agent_id, body }: InboxCommand, reply: Reply): Promise<Reply> {
  if (desk.tidy === undefined || !isDone(reply)) return reply;
  const subject = readSubject(body.task_id);
  const generation = body.generation ?? body.expected_generation;
  if (isProblem(subject) || typeof generation !== 'number') return reply;
  const kept = await desk.tidy({ agent_id, subject, generation });
  return kept === null ? reply : { ...reply, next: kept };
}

const hasResult = (body: InboxCommand['body']): boolean =>
  body.result_data !== undefined || body.blob_sha256 !== undefined;

/** A convergence that brings no result is about the agent's drafts. */
async function converge(desk: Desk, command: InboxCommand, caller: Caller): Promise<Reply> {
  const { agent_id, body } = command;
  const task_id = readSubject(body.task_id);
  if (isProblem(task_id)) return task_id;
  const { generation } = body;
  if (typeof generation !== 'number') {
    return problem('INVALID_REQUEST', 'generation: expected the generation of the grant');
  }
  const done = await convergeFromDrafts(
    desk.place,
    desk,
    { agent_id, body: { ...body, task_id, generation } },
    caller,
  );
  if (!isRefusal(done)) return done.reply;
  return {
    accepted: false,
    reason: done.refused,
    current_generation: generation,
    work_lost: false,
    late: false,
    work_product_ref: null,
    parked: null,
    next: `${done.says} ${done.next}`,
  };
}

/** Whoever can write into an inbox is its agent: for the session of that inbox this is proof enough, for others not. */
function callerOf({ agent_id, session_id }: InboxCommand): Caller {
  return {
    principal: ownSession(agent_id),
    user_id: null,
    client_ip: null,
    may_work: true,
    may_review: false,
    may_administer: false,
    claim_id_optional: session_id === ownSession(agent_id),
  };
}

function sessionFault({ agent_id, session_id }: InboxCommand): Problem | null {
  if (typeof session_id !== 'string' || !isInboxSession(session_id) || session_id === ownSession(agent_id)) {
    return null;
  }
  return problem(
    'FORBIDDEN',
    `session_id: ${session_id.slice(0, 128)} belongs to another inbox. Leave it out.`,
  );
}

export function isDone(reply: Reply): boolean {
  if (isProblem(reply)) return false;
  return 'accepted' in reply ? reply.accepted : reply.success;
}
