import type { Genesis } from '../../client/index.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { ResultManifest } from '../../core/methodology/definition/manifest.js';
import { subjectKindOf } from '../../core/subject.js';
import { collectDrafts } from '../../workspace/drafts/collect.js';
import type { DraftGrant } from '../../workspace/drafts/draft-grant.js';
import { type RefreshedDraft, refreshDrafts } from '../../workspace/drafts/refresh.js';
import { type DraftRefusal, isDraftRefusal } from '../../workspace/drafts/refusal.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { resultBody } from '../result.js';

/** Builds the result of a submission from the holder's drafts. */
export async function collectDraftResult(context: CommandContext, genesis: Genesis, grant: DraftGrant) {
  const { task_id } = grant;
  if (subjectKindOf(task_id) !== 'edge')
    throw wrongUsage(`${task_id} is not an edge; only edges have drafts. Pass --file RESULT or --data JSON.`);
  const manifest = await collectDraftManifest(context.requireWorkspace(), genesis, grant);
  // Canonical JSON, because the digest of the result must equal the digest of the proposed candidate.
  const result = await resultBody(genesis, Buffer.from(canonicalJson(manifest)));
  return { result, paths: manifest.files.map(({ path }) => path) };
}

/** The manifest of the holder's drafts. Their bytes are uploaded as blobs before anything refers to them. */
export async function collectDraftManifest(
  workspace: Workspace,
  genesis: Genesis,
  grant: DraftGrant,
): Promise<ResultManifest> {
  const projectKey = await readProjectKey(workspace);
  const putDraftBlob = async (_: string, sha256: string, bytes: Uint8Array) => {
    unwrapReply(await genesis.putBlob(sha256, bytes));
  };
  const scope = { ...grant, subject: grant.task_id };
  const manifest = await collectDrafts(workspace, { blobs: { put: putDraftBlob }, key: projectKey }, scope);
  if (isDraftRefusal(manifest)) throw draftFailure(manifest);
  return manifest;
}

/** Refreshes the holder's drafts whose files have changed in the project; null if the grant has a worktree. */
export async function refreshGrantDrafts(
  workspace: Workspace,
  grant: DraftGrant,
): Promise<readonly RefreshedDraft[] | null> {
  const refreshed = await refreshDrafts(workspace, { ...grant, subject: grant.task_id });
  if (refreshed !== null && isDraftRefusal(refreshed)) throw draftFailure(refreshed);
  return refreshed;
}

function draftFailure(refusal: DraftRefusal): CommandFailure {
  const { refused, says, next } = refusal;
  const message = singleLine(`${refused}: ${says} ${next} Nothing was submitted.`);
  return new CommandFailure(message, EXIT.refused, refusal);
}
