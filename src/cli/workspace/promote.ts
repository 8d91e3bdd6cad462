import { type Log, promoteAccepted } from '../../workspace/drafts/index.js';
import type { Workspace } from '../../workspace/workspace.js';
import { plainText } from '../output/text.js';
import type { Remark } from './configure.js';

/** Brings the files of accepted results into the project, and says which could not be brought. */
export async function promoteHere(remark: Remark, workspace: Workspace, log: Log): Promise<void> {
  const { conflicts, failures } = await promoteAccepted(workspace, log);
  for (const { path, says, kept_at } of conflicts) {
    const kept = kept_at === null ? '' : ` What was accepted: ${kept_at}`;
    remark(plainText(`${path}: ${says}${kept}`));
  }
  for (const { path, says } of failures) remark(plainText(`${path}: ${says}`));
}
