import type { Genesis } from '../../client/index.js';
import { kindOf } from '../../core/subject.js';
import { collectDrafts, isRefusal } from '../../workspace/drafts/index.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { Context } from '../context.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import type { Handle } from '../memory/memory.js';
import { plainText } from '../output/text.js';
import { expected } from '../replies.js';
import { type ResultBody, resultBody } from '../result.js';
import { spoken } from '../spoken.js';
import { workspaceHere } from '../workspace/here.js';

export interface CollectedDrafts {
  readonly result: ResultBody;
  readonly paths: readonly string[];
}

/** The holder's drafts as a result. Their bytes go where the server keeps blobs, before anything names them. */
export async function collected(
  context: Context,
  genesis: Genesis,
  handle: Handle,
): Promise<CollectedDrafts> {
  const { task_id: subject, agent_id, generation } = handle;
  if (kindOf(subject) !== 'edge')
    throw wrongUsage(`${subject} is no edge of a feature: only work on an edge has drafts.`);
  const workspace = workspaceHere(context);
  const key = await readProjectKey(workspace).catch(spoken);
  const put = async (_: string, sha256: string, bytes: Uint8Array) => {
    expected(await genesis.putBlob(sha256, bytes));
  };
  const manifest = await collectDrafts(workspace, { blobs: { put }, key }, { agent_id, subject, generation });
  if (isRefusal(manifest)) {
    const { refused, says, next } = manifest;
    throw new CommandFailure(
      plainText(`${refused}: ${says} ${next} Nothing was submitted.`),
      EXIT.refused,
      manifest,
    );
  }
  const result = await resultBody(genesis, Buffer.from(JSON.stringify(manifest)));
  return { result, paths: manifest.files.map(({ path }) => path) };
}
