import { join } from 'node:path';
import type { Genesis } from '../../client/index.js';
import type { GrantedClaim } from '../../core/contract/claim-records.js';
import { subjectKindOf } from '../../core/subject.js';
import { Workspace } from '../../workspace/workspace.js';
import { createDraftFolder } from '../edge/edge-grant.js';
import type { Io } from '../io.js';

/**
 * The variable with the root of the workspace whose draft folders `gen run` uses. `gen fleet` sets it, because its agents start
 * in worktrees, in which a copy of the workspace is as old as the last commit.
 */
export const WORKSPACE_VARIABLE = 'GENESIS_WORKSPACE';

/** The drafts of one claim on an edge. */
export interface Drafts {
  readonly workspace: Workspace;
  /** The absolute path of the draft folder. */
  readonly folder: string;
}

export const findWorkspace = ({ env, cwd }: Io): Workspace | null =>
  Workspace.find(env[WORKSPACE_VARIABLE] || cwd);

/** Opens the drafts of a claim. Null for a task, and without a workspace. */
export async function openDrafts(io: Io, claim: GrantedClaim): Promise<Drafts | null> {
  const workspace = subjectKindOf(claim.task_id) === 'edge' ? findWorkspace(io) : null;
  if (workspace === null) return null;
  return { workspace, folder: join(workspace.root, await createDraftFolder(workspace, claim)) };
}

export async function manifestOfDrafts({ workspace }: Drafts, genesis: Genesis, claim: GrantedClaim) {
  // Lazy import: work on tasks does not pay its load time.
  const { collectDraftManifest } = await import('../edge/drafts.js');
  return collectDraftManifest(workspace, genesis, claim);
}
