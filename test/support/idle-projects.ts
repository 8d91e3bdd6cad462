import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Coordinator } from '../../src/coordinator/index.js';
import { swapOf } from '../../src/stores/conformance/fixture.js';
import type { Disk } from '../../src/stores/file/disk.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { nodeDisk } from '../../src/stores/file/node-disk.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { transactionOf } from '../../src/stores/transaction.js';
import { ManualEnvironment } from './manual-environment.js';

const LEASE_SECONDS = 60;
const TEST_MS_MAX = 10 * 60_000;
const CLAIMED_PROJECT: ProjectKey = { tenant_id: 'acme', project_id: 'held' };

/** A start of a file store with one project that holds a claim, and `idleCount` idle ones. */
export function describeIdleProjects(idleCount: number): void {
  test(
    'opens the logs of the projects with claims only, and an idle one when it is used',
    async () => {
      const root = await mkdtemp(join(tmpdir(), 'idle-'));
      onTestFinished(() => rm(root, { recursive: true, force: true }), TEST_MS_MAX);
      const environment = new ManualEnvironment('2026-01-04T06:00:00.000Z');
      const { clock } = environment;
      const first = await openFileStore({ root, clock });
      const idle = Array.from({ length: idleCount }, (_, index) => ({
        ...CLAIMED_PROJECT,
        project_id: `idle-${index}`,
      }));
      await first.commit(idle.map((key) => transactionOf(key, { swaps: [swapOf(key, '~a', 0)] })));
      const until_ms = (await first.now()) + LEASE_SECONDS * 1000;
      const permits = [{ scope: 'claims', member: '~a', until_ms, on_head: true }] as const;
      await first.commit([
        transactionOf(CLAIMED_PROJECT, { swaps: [swapOf(CLAIMED_PROJECT, '~a', 0)], permits }),
      ]);
      await first.close();

      const { disk, opened } = countingDisk();
      const store = await openFileStore({ root, clock, disk });
      onTestFinished(() => store.close());
      const coordinator = await Coordinator.open({ store, environment });
      onTestFinished(() => coordinator.close());
      await coordinator.waitForClaimedProjects();
      expect((await coordinator.projectCounts()).map(({ key }) => key.project_id)).toEqual(['held']);
      expect(opened.size).toBeLessThan(5);
      expect([...opened].filter((name) => name.startsWith('idle-'))).toEqual([]);
      expect(await store.projects('acme')).toContain('idle-7');
      expect((await store.projects('acme')).length).toBeGreaterThan(idleCount);
      const used = { ...CLAIMED_PROJECT, project_id: 'idle-7' };
      expect(await store.heads(used, ['~a'])).toMatchObject([{ subject: '~a', seq: 1 }]);
      expect([...opened].filter((name) => name.startsWith('idle-'))).toEqual(['idle-7']);
    },
    TEST_MS_MAX,
  );
}

/** A disk that notes which projects have files opened. */
function countingDisk(): { disk: Disk; opened: Set<string> } {
  const opened = new Set<string>();
  const counted =
    <Args extends [path: string, ...unknown[]], Result>(open: (...args: Args) => Result) =>
    (...args: Args): Result => {
      const project = /acme\/([^/]+)\//.exec(args[0])?.[1];
      if (project !== undefined) opened.add(project);
      return open(...args);
    };
  const disk: Disk = {
    ...nodeDisk,
    openRead: counted(nodeDisk.openRead),
    openAppend: counted(nodeDisk.openAppend),
    openUpdate: counted(nodeDisk.openUpdate),
  };
  return { disk, opened };
}
