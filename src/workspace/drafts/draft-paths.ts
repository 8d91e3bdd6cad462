import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { Blobs } from '../../stores/blobs.js';
import { folderName } from '../../stores/file/layout.js';
import type { ProjectKey } from '../../stores/store.js';
import { WORKSPACE_FOLDER } from '../workspace.js';
import { featureFolder } from './feature-folder.js';
import { type DraftRefusal, draftRefusal, isDraftRefusal } from './refusal.js';

export interface ProjectFolder {
  readonly root: string;
}

/** Where the bytes of drafts are stored: on this machine or at a server. */
export interface BlobTarget {
  readonly blobs: Pick<Blobs, 'put'>;
  readonly key: ProjectKey;
}

/** The blob store of a project. */
export interface ProjectBlobs extends BlobTarget {
  readonly blobs: Blobs;
}

export interface DraftScope {
  readonly agent_id: string;
  readonly subject: string;
}

/** The folders in which an agent works on an edge, and the escaped ids. Paths are relative to the project's root. */
export type DraftPaths = Exclude<ReturnType<typeof draftPathsOf>, DraftRefusal>;

/** All ids are escaped, so no path can lead outside of the workspace. */
export function draftPathsOf({ agent_id, subject }: DraftScope, nameFeature = featureFolder) {
  try {
    const keys = subjectKindOf(subject) === 'edge' ? subjectKeys(subject) : {};
    const feature = nameFeature(keys.feature_id ?? '');
    const edge = folderName(keys.edge ?? '');
    const agent = `${WORKSPACE_FOLDER}/agents/${folderName(agent_id)}`;
    const drafts = `${agent}/drafts/${feature}/${edge}`;
    // The base record is outside the drafts folder, so that no draft can have its name.
    return { agent, drafts, scratch: `${agent}/scratch`, bases: `${drafts}.base.json`, feature, edge };
  } catch {
    return draftRefusal(
      'BAD_NAME',
      subject,
      `${subject} of agent ${agent_id} cannot name a drafts folder: it is not an edge, or an id is too long.`,
    );
  }
}

/** The folder of a grant's worktree. */
export const worktreeFolder = ({ agent, feature, edge }: DraftPaths, generation: number): string =>
  `${agent}/worktrees/${feature}__${edge}-gen${generation}`;
/** The file that records the commit from which a worktree started. */
export const worktreeRecord = (paths: DraftPaths, generation: number): string =>
  `${worktreeFolder(paths, generation)}.base.json`;

/**
 * The folders of an edge on this disk. Earlier versions escaped every capital of a feature's id (`%52%45%51-…`). If
 * drafts, their bases or the record of the worktree exist under the earlier name, the earlier name is used.
 */
export async function findDraftPaths(
  { root }: ProjectFolder,
  scope: DraftScope & { readonly generation?: number | undefined },
): Promise<DraftPaths | DraftRefusal> {
  const paths = draftPathsOf(scope);
  const earlierPaths = draftPathsOf(scope, folderName);
  if (isDraftRefusal(paths) || isDraftRefusal(earlierPaths) || paths.feature === earlierPaths.feature)
    return paths;
  const { generation } = scope;
  const record = generation === undefined ? [] : [worktreeRecord(earlierPaths, generation)];
  for (const path of [earlierPaths.drafts, earlierPaths.bases, ...record]) {
    if (await lstat(join(root, path)).catch(() => null)) return earlierPaths;
  }
  return paths;
}
