import { relative, sep } from 'node:path';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { Blobs } from '../../stores/blobs.js';
import { folderName } from '../../stores/file/layout.js';
import type { ProjectKey } from '../../stores/store.js';
import { type DraftRefusal, draftRefusal } from './refusal.js';

/** A project on disk: its root, and the folder of the workspace in it. */
export interface ProjectFolder {
  readonly root: string;
  path(...parts: string[]): string;
}

/** Where the bytes of a project are kept. */
export interface ProjectBlobs {
  readonly blobs: Blobs;
  readonly key: ProjectKey;
}

/** Where the bytes of drafts go, be it on this machine or at a server. */
export interface BlobTarget {
  readonly blobs: Pick<Blobs, 'put'>;
  readonly key: ProjectKey;
}

/** Whose drafts, and of what. */
export interface DraftScope {
  readonly agent_id: string;
  readonly subject: string;
}

/** The names of folders from the project's root on. */
export interface DraftFolders {
  readonly agent: readonly string[];
  readonly drafts: readonly string[];
  readonly scratch: readonly string[];
  /** Beside the drafts, so that no draft can have its name. */
  readonly bases: { readonly folder: readonly string[]; readonly name: string };
  readonly feature: string;
  readonly edge: string;
}

/** Where an agent works on an edge. Ids become names of folders by one rule, so none of them leads elsewhere. */
export function draftFoldersOf(
  project: ProjectFolder,
  { agent_id, subject }: DraftScope,
): DraftFolders | DraftRefusal {
  const { feature_id = '', edge = '' } = subjectKindOf(subject) === 'edge' ? subjectKeys(subject) : {};
  const feature = folderNameOrNull(feature_id);
  const folder = folderNameOrNull(edge);
  const agentFolder = folderNameOrNull(agent_id);
  if (feature === null || folder === null || agentFolder === null) {
    return draftRefusal('BAD_NAME', subject, `${subject} of ${agent_id} cannot name a folder of drafts.`);
  }
  const agent = [...workspaceSegments(project), 'agents', agentFolder];
  return {
    agent,
    drafts: [...agent, 'drafts', feature, folder],
    scratch: [...agent, 'scratch'],
    bases: { folder: [...agent, 'drafts', feature], name: `${folder}.base.json` },
    feature,
    edge: folder,
  };
}

export const workspaceSegments = (project: ProjectFolder): string[] =>
  relative(project.root, project.path()).split(sep);

/** Null: no id of ours, or one that is too long for a disk. */
function folderNameOrNull(id: string): string | null {
  try {
    return folderName(id);
  } catch {
    return null;
  }
}
