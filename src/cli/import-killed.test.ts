import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { isImportUnfinished } from '../coordinator/transfer/unfinished-import.js';
import { openFileStore } from '../stores/file/file-store.js';
import { runGen } from './testing/terminal.js';

const MAIN = join(inject('built'), 'dist/cli/main.js');
const LINE_COUNT = 5_000;
const EVENT_COUNT = 2_000;
const PROJECT = { tenant_id: 'default', project_id: 'shop' };

const storeOption = (cwd: string): string[] => ['--store', `file:${join(cwd, 'store')}`];

/** The size of all logs below a folder. */
async function logBytes(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = names
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => stat(join(folder, name)).catch(() => ({ size: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}

/** Starts an import and kills it as soon as it has written to a log. */
async function killWhileItWrites(cwd: string, ...argv: string[]): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'import', ...argv, ...storeOption(cwd)], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd },
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  while (child.exitCode === null && (await logBytes(join(cwd, 'store'))) === 0)
    await new Promise(setImmediate);
  child.kill('SIGKILL');
  await exited;
}

async function storedState(cwd: string) {
  const store = await openFileStore({ root: join(cwd, 'store') });
  try {
    const events = await store.events(PROJECT, { after: 0, limit: 100_000 });
    return { count: events.length, isUnfinished: await isImportUnfinished(store, PROJECT) };
  } finally {
    await store.close();
  }
}

it('a killed import has written all lines of a foreign log or none, and completes when it is repeated', async () => {
  const cwd = await temporaryFolder();
  const lineOf = (_: unknown, line: number) =>
    JSON.stringify({
      event_type: 'edge_started',
      timestamp: '2025-12-01T10:00:00Z',
      feature: `REQ-F-${line}`,
    });
  await writeFile(join(cwd, 'old.jsonl'), Array.from({ length: LINE_COUNT }, lineOf).join('\n'));
  const argv = ['--foreign', 'old.jsonl', '--project', 'shop'];
  await killWhileItWrites(cwd, ...argv);
  expect([0, LINE_COUNT]).toContain((await storedState(cwd)).count);
  const terminal = { cwd, env: { HOME: cwd } };
  expect(await runGen(terminal, 'import', ...argv, ...storeOption(cwd))).toMatchObject({ code: 0 });
  expect(await storedState(cwd)).toEqual({ count: LINE_COUNT, isUnfinished: false });
});

it('a killed import has imported all of a project, or left it marked as unfinished', async () => {
  const cwd = await temporaryFolder();
  const archive = [
    JSON.stringify({ archive: 'genesis-fleet/1', ...PROJECT, position: EVENT_COUNT }),
    ...Array.from({ length: EVENT_COUNT }, (_, index) => archivedEventLine(index + 1)),
  ];
  await writeFile(join(cwd, 'shop.jsonl'), archive.join('\n'));
  await killWhileItWrites(cwd, 'shop.jsonl');
  const { count, isUnfinished } = await storedState(cwd);
  expect(isUnfinished).toBe(count > 0 && count < EVENT_COUNT);
  const terminal = { cwd, env: { HOME: cwd } };
  const repeated = await runGen(terminal, 'import', 'shop.jsonl', ...storeOption(cwd));
  expect(repeated, repeated.err).toMatchObject({ code: 0 });
  expect(await storedState(cwd)).toEqual({ count: EVENT_COUNT, isUnfinished: false });
});

const archivedEventLine = (position: number): string =>
  JSON.stringify({
    event: {
      event_id: `00000000-0000-8000-8000-${String(position).padStart(12, '0')}`,
      event_type: 'edge_started',
      timestamp: '2025-12-01T10:00:00.000Z',
      ...PROJECT,
      agent_id: 'primary',
      payload: { imported: { source: 'old.jsonl', line: position } },
      position,
    },
  });
