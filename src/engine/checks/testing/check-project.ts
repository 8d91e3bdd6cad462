import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { WorkCopy } from '../check-execution.js';
import { createWorkCopy, isCopyRefusal } from '../work-copy.js';

/** A copy of a new project with these files. The project and the copy are removed after the test. */
export async function copyOfProject(files: Readonly<Record<string, string>> = {}): Promise<WorkCopy> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'check-test-')));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const copy = await createWorkCopy(root, []);
  if (isCopyRefusal(copy)) throw new Error(copy.says);
  onTestFinished(copy.remove);
  return copy;
}
