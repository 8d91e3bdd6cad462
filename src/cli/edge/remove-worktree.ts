import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { singleLine } from '../output/text.js';

interface WorktreeOwner {
  readonly agent_id: string;
  readonly subject: string;
  readonly generation: number;
}

/** Removes the worktree after its result was accepted. The bytes were stored before the submission. */
export async function removeWorktree(context: CommandContext, owner: WorktreeOwner): Promise<void> {
  const workspace = Workspace.find(context.io.cwd);
  if (workspace === null) return;
  // Lazy import: other commands do not pay its load time.
  const { removeGrantFolders } = await import('../../workspace/drafts/index.js');
  const refusal = await removeGrantFolders(workspace, owner);
  if (refusal !== null) context.printNotice(singleLine(`The worktree is still there: ${refusal.says}`));
}
