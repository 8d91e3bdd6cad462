import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import type { Genesis } from '../../client/index.js';
import type { ManifestFile, ResultManifest } from '../../core/methodology/definition/manifest.js';
import { createWorkCopy, isCopyRefusal } from '../../engine/checks/work-copy.js';
import { engineError } from '../../engine/engine-error.js';
import type { CandidateFiles, ClaimOfRun, RefreshedText } from '../../engine/handlers/services.js';
import type { RunBlobs } from '../../engine/run-blobs.js';
import type { RefreshedDraft } from '../../workspace/drafts/refresh.js';
import { restoreDrafts } from '../../workspace/drafts/restore.js';
import { isFileContent, readBelow } from '../../workspace/drafts/safe-read.js';
import type { Workspace } from '../../workspace/workspace.js';
import { collectDraftManifest, refreshGrantDrafts } from '../edge/drafts.js';
import { createDraftFolder } from '../edge/edge-grant.js';
import { CommandFailure } from '../exit.js';

/** Maximum size of a file that is passed to a model as text. */
const TEXT_BYTES_MAX = 256 * 1024;

interface DraftOwner {
  readonly agent_id: string;
  readonly task_id: string;
}

/** `CandidateFiles` for a workspace: the candidate is what the agent of the run has in its drafts. */
export function workspaceCandidateFiles(
  workspace: Workspace,
  genesis: Genesis,
  blobs: RunBlobs,
  owner: DraftOwner,
): CandidateFiles {
  const bytesOf = fileBytes(blobs);
  const grantOf = ({ generation }: ClaimOfRun) => ({ ...owner, generation });
  return {
    async prepare(claim, previous) {
      const folder = await asEngineError(createDraftFolder(workspace, grantOf(claim)));
      const grant = { ...grantOf(claim), subject: owner.task_id };
      const blocked = await restoreDrafts(workspace, grant, folder, previous?.files ?? [], bytesOf);
      if (blocked !== null) throw engineError('failed', blocked.says);
      const refreshed = await asEngineError(refreshGrantDrafts(workspace, grantOf(claim)));
      return {
        folder: join(workspace.root, folder),
        refreshed: await Promise.all((refreshed ?? []).map((one) => refreshedText(workspace, one))),
      };
    },
    collect: (claim) => asEngineError(collectDraftManifest(workspace, genesis, grantOf(claim))),
    async workCopy(manifest) {
      const overlay = await Promise.all(
        manifest.files.map(async (file) => ({
          path: file.path,
          bytes: await bytesOf(file),
          executable: file.executable,
        })),
      );
      const copy = await createWorkCopy(workspace.root, overlay);
      if (isCopyRefusal(copy)) throw engineError('failed', `${copy.says} ${copy.next}`);
      return copy;
    },
    texts: (manifest) => textsOf(manifest, bytesOf),
  };
}

async function refreshedText({ root }: Workspace, { path, earlier }: RefreshedDraft): Promise<RefreshedText> {
  const textAt = async (file: string): Promise<string> => {
    const content = await readBelow(root, file, { links: 'any' });
    return isFileContent(content) ? shownText(content.bytes) : '';
  };
  return { path, current: await textAt(path), previousDraft: await textAt(earlier) };
}

/** The content of a file of a manifest: a blob. */
export const fileBytes =
  (blobs: Pick<RunBlobs, 'get'>) =>
  ({ sha256 }: ManifestFile): Promise<Uint8Array> =>
    blobs.get({ bucket: '', key: sha256, version: sha256 });

/** The files as text, for prompts. */
export async function textsOf(
  { files }: ResultManifest,
  bytesOf: (file: ManifestFile) => Promise<Uint8Array>,
): Promise<{ name: string; text: string }[]> {
  const texts: { name: string; text: string }[] = [];
  for (const file of files) {
    const text =
      file.size_bytes > TEXT_BYTES_MAX ? notShown(file.size_bytes) : shownText(await bytesOf(file));
    texts.push({ name: file.path, text });
  }
  return texts;
}

const notShown = (sizeBytes: number): string => `(${sizeBytes} bytes, not shown)`;

const shownText = (bytes: Uint8Array): string =>
  bytes.length > TEXT_BYTES_MAX || !isUtf8(bytes)
    ? notShown(bytes.length)
    : Buffer.from(bytes).toString('utf8');

/** A refusal of drafts becomes a failed step, which the run reports to a person. */
async function asEngineError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CommandFailure) throw engineError('failed', refusalText(error));
    throw error;
  }
}

/** Replaces the message for missing drafts, which is addressed to an agent that can still write drafts. */
const refusalText = ({ body, message }: CommandFailure): string =>
  (body as { refused?: unknown }).refused === 'NO_DRAFTS'
    ? "The agent changed nothing: its files equal the project's files."
    : message;
