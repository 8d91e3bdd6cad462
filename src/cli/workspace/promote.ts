import { type PromotionLog, promoteAccepted } from '../../workspace/drafts/index.js';
import type { Workspace } from '../../workspace/workspace.js';
import { singleLine } from '../output/text.js';
import type { NoticePrinter } from './configure.js';

/** Copies the files of accepted results into the project, and reports conflicts and failures. */
export async function promoteAcceptedFiles(
  printNotice: NoticePrinter,
  workspace: Workspace,
  log: PromotionLog,
): Promise<void> {
  const { conflicts, failures } = await promoteAccepted(workspace, log);
  for (const { path, says, kept_at } of conflicts) {
    const kept = kept_at === null ? '' : ` What was accepted: ${kept_at}`;
    printNotice(singleLine(`${path}: ${says}${kept}`));
  }
  for (const { path, says } of failures) printNotice(singleLine(`${path}: ${says}`));
}
