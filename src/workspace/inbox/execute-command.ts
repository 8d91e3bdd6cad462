import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { parseSubject } from '../../coordinator/operations/parse-body.js';
import { isProblem, type Problem, problem } from '../../coordinator/wire/problem.js';
import type {
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../core/contract/claim-replies.js';
import type { AppendResult } from '../../core/contract/events.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { convergeFromDrafts } from '../drafts/converge.js';
import type { ProjectFolder } from '../drafts/draft-paths.js';
import { cleanUpWorktree, createGrantFolders } from '../drafts/isolation.js';
import type { PromotionLog } from '../drafts/promote-accepted.js';
import { type DraftRefusal, isDraftRefusal } from '../drafts/refusal.js';
import type { InboxCommand } from './command.js';
import { inboxSessionOf, isInboxSession } from './names.js';

/** A refusal that is rebuilt from the log: its code, without the fields that are known only at the time of the decision. */
export interface RecalledRefusal {
  readonly success: false;
  readonly reason: string;
  readonly claim: null;
  readonly current_holder: string | null;
  readonly next: string;
}

/** Drafts that cannot be submitted: nothing was sent to the coordinator. */
type RefusedDrafts = Omit<Extract<SubmissionResult, { accepted: false }>, 'reason'> & {
  readonly reason: DraftRefusal['refused'];
};

type CommandReply =
  | ClaimResult
  | RenewalResult
  | ReleaseResult
  | SubmissionResult
  | AppendResult
  | RecalledRefusal
  | RefusedDrafts
  | Problem;
/** A reply. That to a grant also has the folders of the grant; `next` also says why the worktree of an ended grant is kept. */
export type InboxReply = CommandReply & {
  readonly work?: string;
  readonly scratch?: string;
  readonly next?: string;
};

/** The coordinator that decides, and the project whose files agents use. */
export interface WorkspaceContext extends PromotionLog {
  readonly coordinator: Coordinator;
  readonly project: ProjectFolder;
  /** Whether a grant gets folders in the project, which are cleaned up after it. */
  readonly hasGrantFolders?: boolean;
}

/** Runs a command through the coordinator's operations, so the same rules apply as over HTTP. */
export async function executeCommand(context: WorkspaceContext, command: InboxCommand): Promise<InboxReply> {
  const { coordinator, key } = context;
  const { body } = command;
  if (command.fault !== null) return problem('INVALID_REQUEST', command.fault);
  const sessionRefusal = sessionProblem(command);
  if (sessionRefusal !== null) return sessionRefusal;
  const caller = callerOf(command);
  switch (command.kind) {
    case 'claim':
      return withGrantFolders(context, await coordinator.claims.claimTask(key, body, caller));
    case 'renew':
      return body.expected_generation === undefined
        ? missingGeneration()
        : coordinator.holder.renewLease(key, body, caller);
    case 'release':
      return releaseClaim(context, command, caller);
    case 'submit':
      return cleanUpEndedGrant(context, command, await submitResult(context, command, caller));
    case 'append':
      return coordinator.holder.appendEvent(key, body, caller);
  }
}

/** A release without a generation releases the claim that the agent of the inbox holds. */
async function releaseClaim(
  context: WorkspaceContext,
  command: InboxCommand,
  caller: Caller,
): Promise<InboxReply> {
  const { coordinator, key } = context;
  const generation = command.body.expected_generation ?? (await ownGeneration(context, command));
  if (generation === null) return missingGeneration();
  const body = { ...command.body, expected_generation: generation };
  const reply = await coordinator.holder.releaseClaim(key, body, caller);
  return cleanUpEndedGrant(context, { ...command, body }, reply);
}

async function ownGeneration(
  { coordinator, key }: WorkspaceContext,
  { agent_id, session_id, subject }: InboxCommand,
): Promise<number | null> {
  const state = await coordinator.queries.getTaskState(key, subject ?? '');
  if (isProblem(state) || state.claim === null) return null;
  const { claim } = state;
  const isOwn = claim.session_id === session_id && session_id === inboxSessionOf(agent_id);
  return isOwn ? claim.generation : null;
}

const missingGeneration = (): Problem =>
  problem(
    'INVALID_REQUEST',
    'generation: missing. Send the generation from the outcome of your edge_claim. Only a release by the holder may omit it.',
  );

/** Adds the grant's folders to the reply. The grant remains valid if they cannot be created. */
async function withGrantFolders(
  context: WorkspaceContext,
  reply: ClaimResult | Problem,
): Promise<InboxReply> {
  if (!context.hasGrantFolders || isProblem(reply) || reply.claim === null || !reply.success) return reply;
  const { agent_id, task_id: subject, generation } = reply.claim;
  const folders = await createGrantFolders(context.project, { agent_id, subject, generation });
  return isDraftRefusal(folders) ? reply : { ...reply, work: folders.work, scratch: folders.scratch };
}

/** Repeats the reply to a claim that the log shows as granted. */
export const replayGrant = async (context: WorkspaceContext, granted: EventEnvelope): Promise<InboxReply> =>
  withGrantFolders(context, await context.coordinator.claims.replayGrant(context.key, granted));

/** Removes the worktree of a grant that has ended. If it is kept, adds the reason to the reply. */
async function cleanUpEndedGrant(
  context: WorkspaceContext,
  { agent_id, body }: InboxCommand,
  reply: InboxReply,
): Promise<InboxReply> {
  if (!context.hasGrantFolders || !isSuccess(reply)) return reply;
  const subject = parseSubject(body.task_id);
  const generation = body.generation ?? body.expected_generation;
  if (isProblem(subject) || typeof generation !== 'number') return reply;
  const keptText = await cleanUpWorktree(context.project, { agent_id, subject, generation });
  return keptText === null ? reply : { ...reply, next: keptText };
}

/** A submission without a result submits the agent's drafts. */
async function submitResult(
  context: WorkspaceContext,
  { agent_id, body }: InboxCommand,
  caller: Caller,
): Promise<InboxReply> {
  const { generation } = body;
  if (generation === undefined) return missingGeneration();
  if (body.result_data !== undefined || body.blob_sha256 !== undefined)
    return context.coordinator.holder.submitResult(context.key, body, caller);
  const task_id = parseSubject(body.task_id);
  if (isProblem(task_id)) return task_id;
  if (typeof generation !== 'number') return problem('INVALID_REQUEST', 'generation: expected a number');
  const submission = { agent_id, body: { ...body, task_id, generation } };
  const outcome = await convergeFromDrafts(context.project, context, submission, caller);
  if (!isDraftRefusal(outcome)) return outcome.reply;
  const notSubmitted = { work_lost: false, late: false, work_product_ref: null, parked: null } as const;
  const next = `${outcome.says} ${outcome.next}`;
  return { accepted: false, reason: outcome.refused, current_generation: generation, ...notSubmitted, next };
}

/** The caller of a command. Write access to an inbox authenticates its agent for the inbox's own session only. */
function callerOf({ agent_id, session_id }: InboxCommand): Caller {
  const principal = inboxSessionOf(agent_id);
  const permissions = {
    may_work: true,
    may_review: false,
    may_administer: false,
  };
  const claim_id_optional = session_id === principal;
  return { principal, user_id: null, client_ip: null, agent_role: null, ...permissions, claim_id_optional };
}

function sessionProblem({ agent_id, session_id }: InboxCommand): Problem | null {
  if (typeof session_id !== 'string' || !isInboxSession(session_id)) return null;
  if (session_id === inboxSessionOf(agent_id)) return null;
  const detail = `session_id: ${session_id.slice(0, 128)} belongs to another inbox. Leave out session_id.`;
  return problem('FORBIDDEN', detail);
}

export function isSuccess(reply: InboxReply): boolean {
  if (isProblem(reply)) return false;
  return 'accepted' in reply ? reply.accepted : reply.success;
}
