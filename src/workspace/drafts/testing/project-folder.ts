import { join } from 'node:path';
import { FolderBlobs } from '../../../stores/file/folder-blobs.js';

export const KEY = { tenant_id: 'local', project_id: 'shop' };

/** What a process of its own can have of a yard. */
export function openProjectFolder(root: string) {
  const path = (...parts: string[]) => join(root, '.ai-workspace', ...parts);
  return { root, key: KEY, blobs: new FolderBlobs(path('blobs')), path };
}
