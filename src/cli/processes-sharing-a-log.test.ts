import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FrozenTime } from '../../test/support/frozen-time.js';
import { readAddress, writeAddress } from '../workspace/address.js';
import { openWorkspaceStore } from '../workspace/store.js';
import { Workspace } from '../workspace/workspace.js';
import { runGen, startCommand } from './testing/terminal.js';
import { createProject, FEATURE_ID } from './testing/workspace.js';

const SUBJECT = `${FEATURE_ID}#intent_requirements`;

it('grants one of four concurrent claims of an edge without a server, and refuses the others', async () => {
  // Frozen time: no command reaches its timeout while it waits for the log.
  FrozenTime.begin();
  const terminal = await createProject({});
  const claims = ['a1', 'a2', 'a3', 'a4'].map((agent) =>
    runGen(terminal, 'task', 'claim', SUBJECT, '--agent', agent, '--json'),
  );
  const replies = (await Promise.all(claims)).map(({ out }) => JSON.parse(out) as { reason: string });
  expect(replies.map(({ reason }) => reason).sort()).toEqual([
    'DENIED_ACTIVE_CLAIM',
    'DENIED_ACTIVE_CLAIM',
    'DENIED_ACTIVE_CLAIM',
    'GRANTED',
  ]);
});

it('creates all features that are spawned concurrently', async () => {
  FrozenTime.begin();
  const terminal = await createProject({});
  const spawned = ['REQ-F-A-001', 'REQ-F-B-001', 'REQ-F-C-001'].map((id) =>
    runGen(terminal, 'spawn', '--type', 'feature', '--id', id, '--reason', 'why not'),
  );
  expect((await Promise.all(spawned)).map(({ code }) => code)).toEqual([0, 0, 0]);
});

it('gen events --follow does not lock the log, and shows events of other processes', async () => {
  FrozenTime.begin();
  const terminal = await createProject({});
  const following = startCommand(terminal, 'events', '--follow', '--since', '2020-01-01T00:00:00Z');
  await following.waitForOutput(/METHODOLOGY_CHANGED/);
  expect((await runGen(terminal, 'task', 'claim', SUBJECT, '--agent', 'a1')).code).toBe(0);
  await following.waitForOutput(/a1/);
  expect(
    (await runGen(terminal, 'spawn', '--type', 'feature', '--id', 'REQ-F-B-001', '--reason', 'x')).code,
  ).toBe(0);
  await following.waitForOutput(/REQ-F-B-001/);
  following.stop('SIGINT');
  expect((await following.ended).code).toBe(0);
});

it('trusts the server address only of the process that has the log open', async () => {
  const { cwd } = await createProject({});
  const workspace = new Workspace(cwd);
  const { store } = await openWorkspaceStore(workspace, () => {});
  const address = { url: 'http://127.0.0.1:4680', token: null };
  await writeAddress(workspace, address);
  expect(await readAddress(workspace)).toEqual(address);
  const path = join(workspace.events, 'server.json');
  const addressText = await readFile(path, 'utf8');
  await writeFile(path, addressText.replace(String(process.pid), '1'));
  expect(await readAddress(workspace)).toBeNull();
  await store.close();
});

it('refuses a project other than the workspace’s own', async () => {
  const terminal = await createProject({});
  const { code, err } = await runGen(terminal, 'status', '--project', 'other');
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('This is the workspace of') });
});
