import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import type { Blobs } from '../../stores/blobs.js';
import { folderName } from '../../stores/file/layout.js';
import type { ProjectKey } from '../../stores/store.js';
import { WORKSPACE_FOLDER } from '../workspace.js';
import { type DraftRefusal, draftRefusal } from './refusal.js';

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

/** All ids are escaped by one rule, so none can lead outside. */
export function draftPathsOf({ agent_id, subject }: DraftScope) {
  try {
    const keys = subjectKindOf(subject) === 'edge' ? subjectKeys(subject) : {};
    const feature = folderName(keys.feature_id ?? '');
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
