import { lstat, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { CliState } from './cli-state.js';

const TARGET = { url: 'http://127.0.0.1:4680', tenant: 'default', project: 'shop' };

it('gives concurrent callers the same new session', async () => {
  const home = await temporaryFolder();
  const sessions = Array.from({ length: 50 }, () => new CliState(home).session(TARGET, 'agent-a', ''));
  expect(new Set(await Promise.all(sessions)).size).toBe(1);
  expect(await new CliState(home).session(TARGET, 'agent-a', '/dev/pts/1')).not.toBe(await sessions[0]);
});

it('keeps all handles that are saved concurrently', async () => {
  const home = await temporaryFolder();
  const handles = Array.from({ length: 50 }, (_, index) => ({
    task_id: `A-0${index}-x`,
    generation: index,
    session_id: 'sess-a',
    agent_id: 'agent-a',
    lease_duration_seconds: 300,
  }));
  await Promise.all(handles.map((handle) => new CliState(home).saveHandle(TARGET, handle)));
  const state = new CliState(home);
  const storedHandles = await Promise.all(
    handles.map(({ task_id }) => state.handle(TARGET, 'sess-a', task_id)),
  );
  expect(storedHandles).toEqual(handles);
  expect(await state.handle({ ...TARGET, project: 'other' }, 'sess-a', 'A-00-x')).toBeNull();
});

describe('a symbolic link in the folder', () => {
  const handle = {
    task_id: 'A-001-x',
    generation: 1,
    session_id: 's',
    agent_id: 'a',
    lease_duration_seconds: 30,
  };

  async function openLinked(target: (home: string) => string) {
    const home = await temporaryFolder();
    const state = new CliState(home);
    await state.saveHandle(TARGET, handle);
    const folder = join(home, 'handles');
    const [name = ''] = await readdir(folder);
    await rm(join(folder, name));
    await symlink(target(home), join(folder, name));
    return { home, state, path: join(folder, name) };
  }

  it('is never written through', async () => {
    const { home, state, path } = await openLinked((folder) => join(folder, 'precious'));
    await writeFile(join(home, 'precious'), 'not ours');
    expect(await state.handle(TARGET, 's', 'A-001-x')).toBeNull();
    await state.saveHandle(TARGET, handle);
    expect(await readFile(join(home, 'precious'), 'utf8')).toBe('not ours');
    expect((await lstat(path)).isSymbolicLink()).toBe(false);
    expect(await state.handle(TARGET, 's', 'A-001-x')).toEqual(handle);
  });

  it.each([
    ['to itself', (home: string) => join(home, 'handles', 'round')],
    ['to a folder', (home: string) => home],
    ['to nothing', (home: string) => join(home, 'gone')],
    ['to another kind of record', (home: string) => join(home, 'other')],
  ])('%s counts as an absent record', async (_, target) => {
    const { home, state } = await openLinked(target);
    await symlink('round', join(home, 'handles', 'round'));
    await writeFile(join(home, 'other'), '{"session_id":7}');
    expect(await state.handle(TARGET, 's', 'A-001-x')).toBeNull();
    await state.saveHandle(TARGET, handle);
    expect(await state.handle(TARGET, 's', 'A-001-x')).toEqual(handle);
  });
});
