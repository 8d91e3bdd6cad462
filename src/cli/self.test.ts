import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { resolvesTo } from './self.js';

/** A program, and folders that contain something named `gen`. */
async function openInstalled() {
  const root = await temporaryFolder();
  const main = join(root, 'main.js');
  await writeFile(main, '', { mode: 0o755 });
  const newFolder = async (name: string): Promise<string> => {
    await mkdir(join(root, name), { recursive: true });
    return join(root, name);
  };
  const linkMain = async (name: string): Promise<string> => {
    await symlink(main, join(await newFolder(name), 'gen'));
    return join(root, name);
  };
  const otherProgram = async (name: string, mode: number): Promise<string> => {
    await writeFile(join(await newFolder(name), 'gen'), `#!/bin/sh\nexec ${main}\n`, { mode });
    return join(root, name);
  };
  const isFoundOn = (...path: string[]): boolean => resolvesTo(main, 'gen', path.join(delimiter));
  return { main, newFolder, linkMain, otherProgram, isFoundOn };
}

test('recognizes a link to this program on the PATH', async () => {
  const { newFolder, linkMain, isFoundOn } = await openInstalled();
  expect(isFoundOn(await newFolder('empty'), await linkMain('bin'))).toBe(true);
});

test('does not recognize another program of the same name that comes first', async () => {
  const { linkMain, otherProgram, isFoundOn } = await openInstalled();
  expect(isFoundOn(await otherProgram('theirs', 0o755), await linkMain('bin'))).toBe(false);
});

test('skips files that are not executable, as a shell does', async () => {
  const { main, linkMain, otherProgram, isFoundOn } = await openInstalled();
  const bin = await linkMain('bin');
  expect(isFoundOn(await otherProgram('notes', 0o644), bin)).toBe(true);
  await chmod(main, 0o644);
  expect(isFoundOn(bin)).toBe(false);
});

test('ignores node_modules/.bin, which npm adds for one command only', async () => {
  const { linkMain, isFoundOn } = await openInstalled();
  expect(isFoundOn(await linkMain('project/node_modules/.bin'))).toBe(false);
});

test('ignores empty and relative folders on the PATH', async () => {
  const { linkMain, isFoundOn } = await openInstalled();
  expect(isFoundOn('')).toBe(false);
  expect(isFoundOn(relative(process.cwd(), await linkMain('bin')))).toBe(false);
});
