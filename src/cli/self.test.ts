import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { resolvesTo } from './self.js';

/** A program, and folders that contain something named `gen`. */
async function installed() {
  const root = await temporaryFolder();
  const main = join(root, 'main.js');
  await writeFile(main, '', { mode: 0o755 });
  const folder = async (name: string): Promise<string> => {
    await mkdir(join(root, name), { recursive: true });
    return join(root, name);
  };
  const linked = async (name: string): Promise<string> => {
    await symlink(main, join(await folder(name), 'gen'));
    return join(root, name);
  };
  const other = async (name: string, mode: number): Promise<string> => {
    await writeFile(join(await folder(name), 'gen'), `#!/bin/sh\nexec ${main}\n`, { mode });
    return join(root, name);
  };
  const isFoundOn = (...path: string[]): boolean => resolvesTo(main, 'gen', path.join(delimiter));
  return { main, folder, linked, other, found: isFoundOn };
}

test('recognizes a link to this program on the PATH', async () => {
  const { folder, linked, found } = await installed();
  expect(found(await folder('empty'), await linked('bin'))).toBe(true);
});

test('does not recognize another program of the same name that comes first', async () => {
  const { linked, other, found } = await installed();
  expect(found(await other('theirs', 0o755), await linked('bin'))).toBe(false);
});

test('skips files that are not executable, as a shell does', async () => {
  const { main, linked, other, found } = await installed();
  const bin = await linked('bin');
  expect(found(await other('notes', 0o644), bin)).toBe(true);
  await chmod(main, 0o644);
  expect(found(bin)).toBe(false);
});

test('ignores node_modules/.bin, which npm adds for one command only', async () => {
  const { linked, found } = await installed();
  expect(found(await linked('project/node_modules/.bin'))).toBe(false);
});

test('ignores empty and relative folders on the PATH', async () => {
  const { linked, found } = await installed();
  expect(found('')).toBe(false);
  expect(found(relative(process.cwd(), await linked('bin')))).toBe(false);
});
