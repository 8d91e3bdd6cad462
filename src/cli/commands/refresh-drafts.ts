import { genCommand } from '../../core/methodology/definition/command.js';
import { subjectKindOf } from '../../core/subject.js';
import { defineCommand } from '../command.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { HANDLE_OPTIONS, resolveHandle } from '../handle.js';

export const refreshDraftsCommand = defineCommand('refresh-drafts <edge>', {
  description: 'refresh your drafts whose files have changed in the project',
  options: HANDLE_OPTIONS,
  help: `
Use this command after the refusal BASE_CHANGED. It replaces the content of each draft whose file has changed with the file
that the project has now. Your earlier draft is kept and its path is printed: repeat your changes in the new draft. Other
drafts are not changed.

Example:
  gen task refresh-drafts REQ-F-AUTH-001#design_code`,
  async run(context, edge, options) {
    const handle = await resolveHandle(context, edge, options);
    const { task_id } = handle;
    if (subjectKindOf(task_id) !== 'edge') throw wrongUsage(`${task_id} is not an edge. Pass FEATURE#EDGE.`);
    const { refreshGrantDrafts } = await import('../edge/drafts.js');
    const refreshed = await refreshGrantDrafts(context.requireWorkspace(), handle);
    if (refreshed === null) {
      const { WORKTREE_BASE_CHANGED } = await import('../../workspace/drafts/refusal.js');
      throw new CommandFailure(`${task_id} has a worktree. ${WORKTREE_BASE_CHANGED}`, EXIT.refused);
    }
    context.printReply({ task_id, refreshed }, () =>
      refreshed.length === 0
        ? `No draft of ${task_id} needs to be refreshed.`
        : [
            ...refreshed.map(({ path, earlier }) => `${path}: refreshed. Your earlier draft: ${earlier}`),
            `Repeat your changes, then submit: ${genCommand('task', 'submit', task_id, '--drafts')}`,
          ],
    );
  },
});
