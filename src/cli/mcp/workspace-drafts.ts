import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import { subjectKindOf } from '../../core/subject.js';
import type { McpDrafts } from '../../server/mcp/drafts.js';
import { isDraftRefusal } from '../../workspace/drafts/refusal.js';
import type { CommandContext } from '../context.js';
import { createDraftFolderOrWarn, removeWorktree } from '../edge/edge-grant.js';
import { CommandFailure } from '../exit.js';

/** The drafts in the workspace of the current folder, as the other commands make and collect them. */
export const workspaceDrafts = (context: CommandContext, genesis: Genesis): McpDrafts => ({
  prepare: async (claim) =>
    subjectKindOf(claim.task_id) === 'edge' ? createDraftFolderOrWarn(context, claim) : null,
  async collect(grant) {
    const { collectDraftResult } = await import('../edge/drafts.js');
    try {
      return (await collectDraftResult(context, genesis, grant)).result;
    } catch (error) {
      // A command throws a refusal as a failure. A tool returns the refusal itself.
      const body = error instanceof CommandFailure ? error.body : null;
      if (typeof body === 'object' && (isDraftRefusal(body) || isProblem(body))) return body;
      throw error;
    }
  },
  remove: (grant) => removeWorktree(context, grant),
});
