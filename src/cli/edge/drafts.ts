import type { Genesis } from '../../client/index.js';
import { subjectKindOf } from '../../core/subject.js';
import { collectDrafts } from '../../workspace/drafts/collect.js';
import { isDraftRefusal } from '../../workspace/drafts/refusal.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { resultBody } from '../result.js';
import type { StoredHandle } from '../state/cli-state.js';

/** Builds a result from the holder's drafts. Their bytes are uploaded as blobs before the result refers to them. */
export async function collectDraftResult(
  context: CommandContext,
  genesis: Genesis,
  handle: Pick<StoredHandle, 'task_id' | 'agent_id' | 'generation'>,
) {
  const { task_id: subject, agent_id, generation } = handle;
  if (subjectKindOf(subject) !== 'edge')
    throw wrongUsage(`${subject} is not an edge; only edges have drafts. Pass --file RESULT or --data JSON.`);
  const workspace = context.requireWorkspace();
  const projectKey = await readProjectKey(workspace);
  const putDraftBlob = async (_: string, sha256: string, bytes: Uint8Array) => {
    unwrapReply(await genesis.putBlob(sha256, bytes));
  };
  const grant = { agent_id, subject, generation };
  const manifest = await collectDrafts(workspace, { blobs: { put: putDraftBlob }, key: projectKey }, grant);
  if (isDraftRefusal(manifest)) {
    const { refused, says, next } = manifest;
    const message = singleLine(`${refused}: ${says} ${next} Nothing was submitted.`);
    throw new CommandFailure(message, EXIT.refused, manifest);
  }
  const result = await resultBody(genesis, Buffer.from(JSON.stringify(manifest)));
  return { result, paths: manifest.files.map(({ path }) => path) };
}
