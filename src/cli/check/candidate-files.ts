import type { CandidateFile } from '../../engine/checks/work-copy.js';
import { collectDrafts } from '../../workspace/drafts/collect.js';
import type { DraftGrant } from '../../workspace/drafts/draft-grant.js';
import { isDraftRefusal } from '../../workspace/drafts/refusal.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure, EXIT } from '../exit.js';
import { singleLine } from '../output/text.js';

/** The files that a submission of these drafts would contain, in memory instead of in the store. Empty without drafts. */
export async function readCandidateFiles(workspace: Workspace, grant: DraftGrant): Promise<CandidateFile[]> {
  const contents = new Map<string, Uint8Array>();
  const put = async (_: unknown, sha256: string, bytes: Uint8Array) => {
    contents.set(sha256, bytes);
  };
  const target = { blobs: { put }, key: await readProjectKey(workspace) };
  const manifest = await collectDrafts(workspace, target, { ...grant, subject: grant.task_id });
  if (isDraftRefusal(manifest)) {
    if (manifest.refused === 'NO_DRAFTS') return [];
    const { refused, says, next } = manifest;
    throw new CommandFailure(
      singleLine(`${refused}: ${says} ${next} Nothing was run.`),
      EXIT.refused,
      manifest,
    );
  }
  return manifest.files.flatMap(({ path, sha256, executable }) => {
    const bytes = contents.get(sha256);
    return bytes === undefined ? [] : [{ path, bytes, executable }];
  });
}
