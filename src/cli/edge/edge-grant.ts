import type { EffectiveCheck } from '../../core/contract/checks.js';
import type { GrantedClaim } from '../../core/contract/claim-records.js';
import { subjectKindOf } from '../../core/subject.js';
import type { DraftGrant } from '../../workspace/drafts/draft-grant.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import { unwrapReply } from '../replies.js';

/** What the grant of an edge carries in addition to the claim. */
export interface EdgeGrant {
  /** Where the agent writes, relative to the project's root; null without a workspace or a folder. */
  readonly draft_folder: string | null;
  /** The feature's title; null if the project has none. */
  readonly title: string | null;
  readonly checks: readonly EffectiveCheck[];
  /** Whether a runner must record that the deterministic checks have passed before the result is submitted. */
  readonly needs_evidence: boolean;
}

/** Reads what the grant of an edge carries, and creates its draft folder. Null if the claim is on a task. */
export async function openEdgeGrant(context: CommandContext, claim: GrantedClaim): Promise<EdgeGrant | null> {
  if (subjectKindOf(claim.task_id) !== 'edge') return null;
  const genesis = await context.genesis();
  const { title = null, checks = [] } = unwrapReply(await genesis.task(claim.task_id));
  const hasDeterministicChecks = checks.some(({ type }) => type === 'deterministic');
  const needs_evidence =
    hasDeterministicChecks && unwrapReply(await genesis.policy()).evidence === 'verified';
  return { draft_folder: await createDraftFolderOrWarn(context, claim), title, checks, needs_evidence };
}

/** Creates the draft folder. Null without a workspace, and after a warning if the folder cannot be created. */
export async function createDraftFolderOrWarn(
  context: CommandContext,
  claim: GrantedClaim,
): Promise<string | null> {
  const workspace = Workspace.find(context.io.cwd);
  if (workspace === null) return null;
  try {
    return await createDraftFolder(workspace, claim);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    context.warn(error.message);
    return null;
  }
}

/** Creates the folder that the holder of an edge writes to. Returns it relative to the project's root. */
export async function createDraftFolder(workspace: Workspace, grant: DraftGrant): Promise<string> {
  // Lazy import: claims on tasks do not pay its load time.
  const { createGrantFolders } = await import('../../workspace/drafts/isolation.js');
  const { isDraftRefusal } = await import('../../workspace/drafts/refusal.js');
  const { agent_id, task_id: subject, generation } = grant;
  const isolation = await createGrantFolders(workspace, { agent_id, subject, generation });
  if (!isDraftRefusal(isolation)) return isolation.work;
  throw new CommandFailure(`No draft folder was created: ${isolation.says} ${isolation.next}`);
}

/** Removes the worktree after its result was accepted. Its files were stored before the submission. */
export async function removeWorktree(
  context: CommandContext,
  grant: DraftGrant,
  workspace = Workspace.find(context.io.cwd),
): Promise<void> {
  if (workspace === null) return;
  const { removeGrantFolders } = await import('../../workspace/drafts/isolation.js');
  const refusal = await removeGrantFolders(workspace, { ...grant, subject: grant.task_id });
  if (refusal !== null) context.warn(`The worktree was not removed: ${refusal.says}`);
}
