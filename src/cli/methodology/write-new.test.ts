import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { writeNew } from './write-new.js';

it('writes a file atomically, and never overwrites an existing one', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'a/b/c.yml');
  expect(await writeNew(path, 'first', 'read_only')).toBe(true);
  expect(await writeNew(path, 'second')).toBe(false);
  expect(await readFile(path, 'utf8')).toBe('first');
  expect((await stat(path)).mode & 0o777).toBe(0o444);
  expect(await readdir(join(folder, 'a/b'))).toEqual(['c.yml']);
});

it('lets exactly one of several concurrent writers create the file', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'one.md');
  const written = await Promise.all(Array.from({ length: 8 }, (_, index) => writeNew(path, `by ${index}`)));
  expect(written.filter(Boolean)).toHaveLength(1);
  expect(await readFile(path, 'utf8')).toBe(`by ${written.indexOf(true)}`);
});
