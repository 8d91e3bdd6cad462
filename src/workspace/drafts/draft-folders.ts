import { relative, sep } from 'node:path';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { Blobs } from '../../stores/blobs.js';
import { folderName } from '../../stores/file/layout.js';
import type { ProjectKey } from '../../stores/store.js';
import { type DraftRefusal, draftRefusal } from './refusal.js';

/** A project on disk: its root, and paths in its workspace folder. */
export interface ProjectFolder {
  readonly root: string;
  path(...parts: string[]): string;
}

/** The blob store of a project. */
export interface ProjectBlobs {
  readonly blobs: Blobs;
  readonly key: ProjectKey;
}

/** Where the bytes of drafts are stored: on this machine or at a server. */
export interface BlobTarget {
  readonly blobs: Pick<Blobs, 'put'>;
  readonly key: ProjectKey;
}

/** The agent and the subject that drafts belong to. */
export interface DraftScope {
  readonly agent_id: string;
  readonly subject: string;
}

/** Folder names relative to the project's root. */
export interface DraftFolders {
  readonly agent: readonly string[];
  readonly drafts: readonly string[];
  readonly scratch: readonly string[];
  /** Outside the drafts folder, so that no draft can have its name. */
  readonly bases: { readonly folder: readonly string[]; readonly name: string };
  readonly feature: string;
  readonly edge: string;
}

/** The folders in which an agent works on an edge. All ids are escaped by one rule, so none can lead outside. */
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

/** Null if the id is invalid, or too long for a file name. */
function folderNameOrNull(id: string): string | null {
  try {
    return folderName(id);
  } catch {
    return null;
  }
}
