import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { copyOfStoreFolder } from '../../stores/file/wal/testing.js';
import { PLAN } from '../testing/cli-harness.js';
import { runGen } from '../testing/terminal.js';

const KEY = { tenant_id: 'default', project_id: 'shop' };
const TASK = { task_id: 'A-001-schema', agent_id: 'agent-a', session_id: 'sess-a' };

/** A store after a power loss, with everything in its write-ahead log only. */
async function openCrashedLog(): Promise<{ root: string; log: string; wal: string; events: number }> {
  const running = await temporaryFolder();
  const store = await openFileStore({ root: running, own_syncs_max: 0 });
  const coordinator = await Coordinator.open({ store });
  await coordinator.plans.put(KEY, PLAN);
  await coordinator.claims.claimTask(KEY, TASK);
  const events = (await store.project(KEY))?.position ?? 0;
  const root = await copyOfStoreFolder(running);
  coordinator.close();
  await store.close();
  const log = join(root, 'default/shop/events.jsonl');
  await truncate(log, 0);
  return { root, log, wal: join(root, '_wal.jsonl'), events };
}

it('verifies a log as the next start will find it, and changes nothing', async () => {
  const { root, log, wal, events } = await openCrashedLog();
  const before = await readFile(wal);
  for (const path of [root, join(root, 'default/shop'), log]) {
    const { code, out } = await runGen({ cwd: root }, 'verify', '--json', path);
    expect(code).toBe(0);
    const report = JSON.parse(out).logs.find((each: { project_id: string }) => each.project_id === 'shop');
    expect(report).toMatchObject({ events, breaks: [], unfinished_bytes: 0 });
  }
  expect(events).toBeGreaterThan(1);
  expect(await readFile(wal)).toEqual(before);
  expect((await readFile(log)).length).toBe(0);
});

it('names the damaged line of the write-ahead log', async () => {
  const { root, wal } = await openCrashedLog();
  const bytes = await readFile(wal);
  bytes[200] = (bytes[200] as number) ^ 1;
  await writeFile(wal, bytes);
  const { code, out } = await runGen({ cwd: root }, 'verify', root);
  expect(code).toBe(1);
  expect(out).toMatch(/_wal\.jsonl/);
  expect(out).toContain('the frame is not what was written');
});

it('reports a log that ends before the write-ahead log continues it', async () => {
  const { root, log, wal } = await openCrashedLog();
  await (await openFileStore({ root })).close();
  const store = await openFileStore({ root, own_syncs_max: 0 });
  const coordinator = await Coordinator.open({ store });
  await coordinator.claims.claimTask(KEY, { ...TASK, agent_id: 'agent-b', session_id: 'sess-b' });
  await coordinator.holder.releaseClaim(KEY, {
    task_id: TASK.task_id,
    session_id: 'sess-a',
    expected_generation: 1,
  });
  const copy = await copyOfStoreFolder(root);
  coordinator.close();
  await store.close();
  await truncate(log.replace(root, copy), 0);
  expect((await readFile(wal.replace(root, copy))).length).toBeGreaterThan(0);
  expect((await runGen({ cwd: copy }, 'verify', copy)).code).toBe(1);
});
