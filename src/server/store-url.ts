import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Blobs, MemoryBlobs } from '../stores/blobs.js';
import { openFileStore } from '../stores/file/file-store.js';
import { FolderBlobs } from '../stores/file/folder-blobs.js';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import type { Store } from '../stores/store.js';

/** Opens what a store URL names: `file:./dir` or `memory:`. */
export async function openStoreUrl(
  url: string,
  warn: (sentence: string) => void,
): Promise<{ store: Store; blobs: Blobs }> {
  if (url === 'memory:') return { store: openMemoryStore(), blobs: new MemoryBlobs() };
  const root = folderOf(url);
  if (root === null) {
    throw new Error(
      `There is no store for ${JSON.stringify(url)}. Say file:./folder, or memory: to keep nothing.`,
    );
  }
  const store = await openFileStore({ root, onWarning: warn });
  return { store, blobs: new FolderBlobs(root) };
}

/** `file:dir`, `file:./dir`, `file:/dir` and `file:///dir`: relative ones from here. */
function folderOf(url: string): string | null {
  if (url.startsWith('file://')) return fileURLToPath(url);
  if (!url.startsWith('file:') || url.length === 'file:'.length) return null;
  return resolve(decodeURIComponent(url.slice('file:'.length)));
}
