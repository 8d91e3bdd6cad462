import { Workspace } from '../../workspace/workspace.js';
import type { Context } from '../context.js';
import { plainText } from '../output/text.js';

interface Grant {
  readonly agent_id: string;
  readonly subject: string;
  readonly generation: number;
}

/** The result was accepted: a worktree has done its work. Its bytes are kept since before the submission. */
export async function endWork(context: Context, grant: Grant): Promise<void> {
  const workspace = Workspace.find(context.io.cwd);
  if (workspace === null) return;
  // Loaded here alone: other commands need not wait for it.
  const { endIsolation } = await import('../../workspace/drafts/index.js');
  const left = await endIsolation(workspace, grant);
  if (left !== null) context.remark(plainText(`The worktree is still there: ${left.says}`));
}
