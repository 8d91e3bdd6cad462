import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { WORKSPACE_FOLDER } from '../../workspace/workspace.js';
import { startPlannedHarness } from '../testing/cli-harness.js';
import { runGen, startCommand } from '../testing/terminal.js';
import { cliFolder } from './cli-folder.js';

const homeAt = (cwd: string, env: Record<string, string> = {}): string =>
  cliFolder(startCommand({ cwd, env }, '--version').io);

it('uses the nearest .genesis folder upward, or one in the current folder if there is none', async () => {
  const top = await temporaryFolder();
  const deep = join(top, 'src', 'pages');
  await mkdir(deep, { recursive: true });
  expect(homeAt(deep)).toBe(join(deep, '.genesis'));
  await mkdir(join(top, '.genesis'));
  expect(homeAt(deep)).toBe(join(top, '.genesis'));
  expect(homeAt(deep, { GENESIS_HOME: 'mine' })).toBe(join(deep, 'mine'));
  expect(homeAt(deep, { HOME: top })).toBe(join(deep, '.genesis'));
  expect(homeAt(top, { HOME: top })).toBe(join(top, '.genesis'));
  await rm(join(top, '.genesis'), { recursive: true });
  await symlink(await temporaryFolder(), join(top, '.genesis'));
  expect(homeAt(deep)).toBe(join(deep, '.genesis'));
});

it('uses the folder next to the workspace, and does not search above it', async () => {
  const top = await temporaryFolder();
  const deep = join(top, 'shoes', 'src');
  await mkdir(deep, { recursive: true });
  await mkdir(join(top, '.genesis'));
  await mkdir(join(top, 'shoes', WORKSPACE_FOLDER));
  expect(homeAt(deep)).toBe(join(top, 'shoes', '.genesis'));
  await mkdir(join(deep, '.genesis'));
  expect(homeAt(deep)).toBe(join(deep, '.genesis'));
});

it('lets a subfolder release a claim made in its parent folder', async () => {
  const { terminal } = await startPlannedHarness();
  expect((await runGen(terminal, 'task', 'claim', 'A-001-schema')).code).toBe(0);
  const below = join(terminal.cwd, 'src');
  await mkdir(below);
  const released = await runGen({ ...terminal, cwd: below }, 'task', 'release', 'A-001-schema');
  expect(released).toMatchObject({ code: 0 });
});
