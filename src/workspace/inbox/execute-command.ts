import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { parseSubject } from '../../coordinator/operations/parse-body.js';
import type {
  AppendResult,
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../coordinator/wire/index.js';
import { isProblem, type Problem, problem } from '../../coordinator/wire/problem.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import {
  convergeFromDrafts,
  type DraftRefusal,
  type GrantFolders,
  isDraftRefusal,
  type ProjectFolder,
  type PromotionLog,
  type WorktreeScope,
} from '../drafts/index.js';
import type { InboxCommand } from './command.js';
import { inboxSessionOf, isInboxSession } from './names.js';

/** A claim reply with the folders of the grant. */
type ClaimReplyWithFolders = ClaimResult & { readonly work?: string; readonly scratch?: string };

export type InboxReply =
  | ClaimReplyWithFolders
  | RenewalResult
  | ReleaseResult
  | SubmissionResult
  | AppendResult
  | Problem;

/** The coordinator that decides, and the project whose files agents use. */
export interface WorkspaceContext extends PromotionLog {
  readonly coordinator: Coordinator;
  readonly project: ProjectFolder;
  /** Creates the folders of a grant. */
  readonly createGrantFolders?: (grant: WorktreeScope) => Promise<GrantFolders | DraftRefusal>;
  /** Removes them if nothing would be lost; otherwise returns why they are kept. */
  readonly cleanUpGrant?: (grant: WorktreeScope) => Promise<string | null>;
}

/** Runs a command through the coordinator's operations, so the same rules apply as over HTTP. */
export async function executeCommand(context: WorkspaceContext, command: InboxCommand): Promise<InboxReply> {
  const { coordinator, key } = context;
  const { body } = command;
  const fault = sessionFault(command);
  if (fault !== null) return fault;
  const caller = callerOf(command);
  switch (command.kind) {
    case 'claim':
      return withGrantFolders(context, await coordinator.claimTask(key, body, caller));
    case 'renew':
      return coordinator.renewLease(key, body, caller);
    case 'release':
      return withCleanup(context, command, await coordinator.releaseClaim(key, body, caller));
    case 'submit':
      return withCleanup(context, command, await submit(context, command, caller));
    case 'append':
      return coordinator.appendEvent(key, body, caller);
  }
}

/** Adds the grant's folders to the reply. If they cannot be created, the grant stands. */
async function withGrantFolders(
  context: WorkspaceContext,
  reply: ClaimResult | Problem,
): Promise<InboxReply> {
  if (context.createGrantFolders === undefined || isProblem(reply) || reply.claim === null || !reply.success)
    return reply;
  const { agent_id, task_id: subject, generation } = reply.claim;
  const folders = await context.createGrantFolders({ agent_id, subject, generation });
  return isDraftRefusal(folders) ? reply : { ...reply, work: folders.work, scratch: folders.scratch };
}

/** Replies to a grant that the log already has, as it was first granted. */
export const replayGrant = async (context: WorkspaceContext, granted: EventEnvelope): Promise<InboxReply> =>
  withGrantFolders(context, await context.coordinator.replayGrant(context.key, granted));

const submit = (context: WorkspaceContext, command: InboxCommand, caller: Caller): Promise<InboxReply> =>
  hasResult(command.body)
    ? context.coordinator.submitResult(context.key, command.body, caller)
    : submitDrafts(context, command, caller);

/** Removes the worktree of a grant that has ended. */
async function withCleanup(
  context: WorkspaceContext,
  { agent_id, body }: InboxCommand,
  reply: InboxReply,
): Promise<InboxReply> {
  if (context.cleanUpGrant === undefined || !isSuccess(reply)) return reply;
  const subject = parseSubject(body.task_id);
  const generation = body.generation ?? body.expected_generation;
  if (isProblem(subject) || typeof generation !== 'number') return reply;
  const kept = await context.cleanUpGrant({ agent_id, subject, generation });
  return kept === null ? reply : { ...reply, next: kept };
}

const hasResult = (body: InboxCommand['body']): boolean =>
  body.result_data !== undefined || body.blob_sha256 !== undefined;

/** A submission without a result submits the agent's drafts. */
async function submitDrafts(
  context: WorkspaceContext,
  command: InboxCommand,
  caller: Caller,
): Promise<InboxReply> {
  const { agent_id, body } = command;
  const task_id = parseSubject(body.task_id);
  if (isProblem(task_id)) return task_id;
  const { generation } = body;
  if (typeof generation !== 'number') {
    return problem('INVALID_REQUEST', 'generation: expected the generation of the grant');
  }
  const done = await convergeFromDrafts(
    context.project,
    context,
    { agent_id, body: { ...body, task_id, generation } },
    caller,
  );
  if (!isDraftRefusal(done)) return done.reply;
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

/** The caller of a command. Write access to an inbox authenticates its agent for the inbox's own session only. */
function callerOf({ agent_id, session_id }: InboxCommand): Caller {
  return {
    principal: inboxSessionOf(agent_id),
    user_id: null,
    client_ip: null,
    may_work: true,
    may_review: false,
    may_administer: false,
    claim_id_optional: session_id === inboxSessionOf(agent_id),
  };
}

function sessionFault({ agent_id, session_id }: InboxCommand): Problem | null {
  if (
    typeof session_id !== 'string' ||
    !isInboxSession(session_id) ||
    session_id === inboxSessionOf(agent_id)
  ) {
    return null;
  }
  return problem(
    'FORBIDDEN',
    `session_id: ${session_id.slice(0, 128)} belongs to another inbox. Leave it out.`,
  );
}

export function isSuccess(reply: InboxReply): boolean {
  if (isProblem(reply)) return false;
  return 'accepted' in reply ? reply.accepted : reply.success;
}
