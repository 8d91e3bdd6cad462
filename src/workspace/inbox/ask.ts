import type { Caller } from '../../coordinator/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem, type Problem, problem } from '../../coordinator/problem.js';
import type {
  AppendResult,
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../coordinator/wire.js';
import type { ProjectKey } from '../../stores/store.js';
import type { InboxCommand } from './command.js';
import { isInboxSession, ownSession } from './names.js';

export type Reply = ClaimResult | RenewalResult | ReleaseResult | SubmissionResult | AppendResult | Problem;

/** The same rules as over HTTP: the coordinator's own operations decide. */
export async function ask(coordinator: Coordinator, key: ProjectKey, command: InboxCommand): Promise<Reply> {
  const { body } = command;
  const fault = sessionFault(command);
  if (fault !== null) return fault;
  const caller = callerOf(command);
  switch (command.kind) {
    case 'claim':
      return coordinator.claimTask(key, body, caller);
    case 'renew':
      return coordinator.renewLease(key, body, caller);
    case 'release':
      return coordinator.releaseClaim(key, body, caller);
    case 'submit':
      return coordinator.submitResult(key, body, caller);
    case 'append':
      return coordinator.appendEvent(key, body, caller);
  }
}

/** Whoever can write into an inbox is its agent: for the session of that inbox this is proof enough, for others not. */
function callerOf({ agent_id, session_id }: InboxCommand): Caller {
  return {
    principal: ownSession(agent_id),
    user_id: null,
    client_ip: null,
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

/** Nothing was decided: the command stays where it is, and is asked again. */
export const isUndecided = (reply: Reply): reply is Problem =>
  isProblem(reply) && (reply.problem === 'UNAVAILABLE' || reply.problem === 'UNKNOWN');
