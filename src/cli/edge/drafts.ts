import type { Genesis } from '../../client/index.js';
import { subjectKindOf } from '../../core/subject.js';
import { collectDrafts, isDraftRefusal } from '../../workspace/drafts/index.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { type ResultBody, resultBody } from '../result.js';
import type { StoredHandle } from '../state/cli-state.js';
import { throwUserError } from '../user-errors.js';
import { requireWorkspaceHere } from '../workspace/require-workspace.js';

export interface CollectedDrafts {
  readonly result: ResultBody;
  readonly paths: readonly string[];
}

/** Builds a result from the holder's drafts. Their bytes are uploaded as blobs before the result refers to them. */
export async function collectDraftResult(
  context: CommandContext,
  genesis: Genesis,
  handle: StoredHandle,
): Promise<CollectedDrafts> {
  const { task_id: subject, agent_id, generation } = handle;
  if (subjectKindOf(subject) !== 'edge')
    throw wrongUsage(`${subject} is no edge of a feature: only work on an edge has drafts.`);
  const workspace = requireWorkspaceHere(context);
  const key = await readProjectKey(workspace).catch(throwUserError);
  const putDraftBlob = async (_: string, sha256: string, bytes: Uint8Array) => {
    unwrapReply(await genesis.putBlob(sha256, bytes));
  };
  const manifest = await collectDrafts(
    workspace,
    { blobs: { put: putDraftBlob }, key },
    { agent_id, subject, generation },
  );
  if (isDraftRefusal(manifest)) {
    const { refused, says, next } = manifest;
    throw new CommandFailure(
      singleLine(`${refused}: ${says} ${next} Nothing was submitted.`),
      EXIT.refused,
      manifest,
    );
  }
  const result = await resultBody(genesis, Buffer.from(JSON.stringify(manifest)));
  return { result, paths: manifest.files.map(({ path }) => path) };
}
