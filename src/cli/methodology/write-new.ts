import { randomUUID } from 'node:crypto';
import { link, mkdir, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

const MODES = { ordinary: 0o644, read_only: 0o444 };

/** Creates a file atomically; returns false if it exists already. The file gets its name when all bytes are on disk. */
export async function writeNew(
  path: string,
  text: string,
  kind: keyof typeof MODES = 'ordinary',
): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true });
  const temporaryPath = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporaryPath, 'wx', MODES[kind]);
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
