import { randomUUID } from 'node:crypto';
import { link, mkdir, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

const READ_ONLY = 0o444;
const ORDINARY = 0o644;

/**
 * Creates a file atomically; returns false if it exists already. The name appears only once all bytes are on disk.
 */
export async function writeNew(
  path: string,
  text: string,
  kind: 'ordinary' | 'read_only' = 'ordinary',
): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  const temporaryPath = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporaryPath, 'wx', kind === 'read_only' ? READ_ONLY : ORDINARY);
  try {
    await file.writeFile(text);
    await file.sync();
    await link(temporaryPath, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await file.close();
    await unlink(temporaryPath);
  }
}
