import { isProblem } from '../client/replies.js';
import { edgeSubject } from '../core/methodology/definition/edge-name.js';
import { subjectKeys, subjectKindOf } from '../core/subject.js';
import { withoutUndefined } from '../core/without-undefined.js';
import type { CommandContext } from './context.js';
import { CommandFailure, failureWithCode } from './exit.js';
import { parseWholeNumber } from './option-parsers.js';
import type { OptionsOf } from './option-table.js';
import { formatUtc } from './output/text.js';
import type { StoredHandle } from './state/cli-state.js';

/** Options with a handle that is used instead of the stored one. */
export const HANDLE_OPTIONS = {
  '--generation <n>': { about: 'generation of a handle that is not stored here', parse: parseWholeNumber },
  '--claim-id <id>': 'claim id of a handle that is not stored here',
} as const;

/** The canonical spelling of an edge's id. Handles are stored under it. */
export function canonicalSubject(id: string): string {
  const { feature_id, edge } = subjectKindOf(id) === 'edge' ? subjectKeys(id) : {};
  return feature_id === undefined || edge === undefined ? id : edgeSubject(feature_id, edge);
}

/** This session's handle for a task or an edge. */
export async function resolveHandle(
  context: CommandContext,
  id: string,
  { generation, claimId: claim_id }: OptionsOf<typeof HANDLE_OPTIONS>,
): Promise<StoredHandle> {
  const task_id = canonicalSubject(id);
  const session_id = await context.session();
  const remembered = await context.state.handle(await context.target(), session_id, task_id);
  const claimIdField = withoutUndefined({ claim_id });
  if (generation !== undefined && remembered?.generation !== generation) {
    const agent_id = await context.agent();
    return { task_id, generation, session_id, agent_id, lease_duration_seconds: null, ...claimIdField };
  }
  if (remembered !== null) return { ...remembered, ...claimIdField };
  throw (
    (await alreadyCompletedFailure(context, task_id)) ??
    new CommandFailure(
      `No handle for ${task_id} of project ${(await context.target()).project} is stored for session ${session_id}. Claim the work first (gen task claim ${task_id}), ` +
        'pass the session that holds the claim with --session, or pass the handle with --generation and --claim-id.',
    )
  );
}

/** The failure for work that is already completed: its handle was removed when the result was accepted. Null for other work. */
async function alreadyCompletedFailure(context: CommandContext, taskId: string) {
  const state = await (await context.genesis()).task(taskId);
  if (isProblem(state) || state.phase !== 'COMPLETED' || state.result === null) return null;
  const { agent_id, work_product_ref, submitted_at } = state.result;
  const who = agent_id === (await context.agent()) ? 'you' : agent_id;
  return failureWithCode(
    'TASK_ALREADY_COMPLETED',
    `${taskId} is already completed: ${work_product_ref}, by ${who} at ${formatUtc(submitted_at)} UTC. Claim other work, or have an operator reset this task: gen task reset ${taskId} --reason TEXT`,
  );
}

/** The fields of every fenced call except the generation, whose name differs between calls. */
export const fencingFields = ({ task_id, session_id, claim_id }: StoredHandle) =>
  withoutUndefined({ task_id, session_id, claim_id });
