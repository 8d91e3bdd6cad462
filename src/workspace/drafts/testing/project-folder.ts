import { join } from 'node:path';
import { FolderBlobs } from '../../../stores/file/folder-blobs.js';

export const KEY = { tenant_id: 'local', project_id: 'shop' };

/** The part of a `DraftsHarness` that a child process can open. */
export function openProjectFolder(root: string) {
  const workspacePath = (...parts: string[]) => join(root, '.ai-workspace', ...parts);
  return { root, key: KEY, blobs: new FolderBlobs(workspacePath('blobs')), workspacePath };
}
