import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { copyOfFormat1 } from '../../stores/file/testing/format-1.js';
import { runGen } from '../testing/terminal.js';

const formatOf = async (root: string): Promise<number> =>
  JSON.parse(await readFile(join(root, 'store.json'), 'utf8')).format;

it('migrates the folder of a store to format 2 once, and says what it did', async () => {
  const root = await copyOfFormat1();
  const store = `file:${root}`;
  const cwd = await temporaryFolder();
  const pending = await runGen({ cwd }, 'migrate', '--store', store, '--status');
  expect(pending).toMatchObject({ code: 1, out: expect.stringContaining('at version 1 of 2. Pending') });
  const dry = await runGen({ cwd }, 'migrate', '--store', store, '--dry-run');
  expect(dry.out).toContain('"format":2');
  expect(await formatOf(root)).toBe(1);

  const done = await runGen({ cwd }, 'migrate', '--store', store);
  expect(done).toMatchObject({ code: 0, out: expect.stringContaining('1 step applied, now at version 2.') });
  expect(await formatOf(root)).toBe(2);
  const again = await runGen({ cwd }, 'migrate', '--store', store);
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('at version 2, nothing to do.') });
});

it('migrates the log of a workspace, which no command writes before the migration', async () => {
  const cwd = await temporaryFolder();
  expect((await runGen({ cwd }, 'init')).code).toBe(0);
  const events = join(cwd, '.ai-workspace', 'events');
  const meta = JSON.parse(await readFile(join(events, 'store.json'), 'utf8'));
  await writeFile(join(events, 'store.json'), JSON.stringify({ ...meta, format: 1 }));
  const refused = await runGen({ cwd }, 'init');
  expect(refused.code).not.toBe(0);
  expect(refused.err).toContain('has format 1, and this program writes format 2. Run: gen migrate');
  expect((await runGen({ cwd }, 'migrate')).out).toContain('1 step applied, now at version 2.');
  expect(await formatOf(events)).toBe(2);
  expect((await runGen({ cwd }, 'init')).code).toBe(0);
});
