import { basename, dirname } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { readSmallFile, writeAtomically } from '../../stores/file/disk.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import type { SyncWorkspace } from './sync-workspace.js';

const position = z.int().nonnegative();
const cursorSchema = z.object({
  remote: z.string().max(2048),
  tenant_id: z.string(),
  project_id: z.string(),
  /** Up to this position the local log equals the remote's. */
  replicated_position: position,
  /** Up to this position local events have been pushed. */
  pushed_position: position,
  last_pull: z.string().nullable(),
  last_push: z.string().nullable(),
});

/** The last known sync state with a remote. A cache: without it the logs are compared from the beginning. */
export type SyncCursor = z.infer<typeof cursorSchema>;

/** The cursor of this remote and project; null if the file is missing, unreadable, or of another remote or project. */
export async function readCursor(
  { sync_file, key }: SyncWorkspace,
  remote: string,
): Promise<SyncCursor | null> {
  const cursor = await readAnyCursor(sync_file);
  const isOurs =
    cursor?.remote === remote && cursor.tenant_id === key.tenant_id && cursor.project_id === key.project_id;
  return isOurs ? cursor : null;
}

export async function readAnyCursor(syncFile: string): Promise<SyncCursor | null> {
  try {
    const parsed = cursorSchema.safeParse(parse((await readSmallFile(nodeDisk, syncFile)) ?? ''));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

export async function writeCursor(
  { sync_file, key }: SyncWorkspace,
  remote: string,
  cursor: Omit<SyncCursor, 'remote' | 'tenant_id' | 'project_id'>,
): Promise<void> {
  const text = stringify({ remote, ...key, ...cursor });
  await writeAtomically(nodeDisk, dirname(sync_file), basename(sync_file), text);
}
