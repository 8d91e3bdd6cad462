import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  P,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { ManualEnvironment } from '../../../test/support/manual-environment.js';
import { swapOf } from '../../stores/conformance/fixture.js';
import type { Disk } from '../../stores/file/disk.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import type { ProjectKey } from '../../stores/store.js';
import { transactionOf } from '../../stores/transaction.js';
import { Coordinator } from '../coordinator.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;
const LEASE_S = 60;
const ROUNDS_MAX = 1000;

const countsOf = async (harness: CoordinatorHarness) =>
  (await harness.coordinator.projectCounts()).map(({ key, ...counts }) => [key.project_id, counts] as const);

/** Runs the timers that are due until the subject has an event of this type. No command is sent. */
async function untilRecorded(harness: CoordinatorHarness, subject: string, type: string): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if ((await harness.eventTypesOf(subject)).includes(type)) return;
    harness.advance(1);
    harness.environment.runDueTimers();
    await harness.environment.yieldToEventLoop();
  }
  throw new Error(`${type} of ${subject} was not recorded.`);
}

forEachStore('after a restart, without a command', (open) => {
  async function restartedWithClaim(policy: object = {}) {
    const harness = await open();
    await harness.plan(planOf(A, B));
    await harness.plan(planOf(A), { ...P, project_id: 'idle' });
    unwrap(await harness.coordinator.settings.putPolicy(P, policy));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claims(A, { lease_duration_seconds: LEASE_S });
    await harness.restart();
    await harness.coordinator.waitForHeldProjects();
    return harness;
  }

  // req: LSE-014, MET-006
  test('the numbers of the project with a claim are known, and the idle one is not loaded', async () => {
    const harness = await restartedWithClaim();
    expect(await countsOf(harness)).toEqual([
      [
        P.project_id,
        { active_claims: 1, stale_claims: 0, ready_tasks: 1, pending_tasks: 2, completed_tasks: 0 },
      ],
    ]);
  });

  // req: LSE-014
  test('the end of the lease is recorded, and the numbers say so', async () => {
    const harness = await restartedWithClaim();
    await untilRecorded(harness, A, 'CLAIM_LOST');
    expect(await countsOf(harness)).toMatchObject([
      [P.project_id, { active_claims: 0, ready_tasks: 2, pending_tasks: 2 }],
    ]);
  });

  test('a lease that ended while nothing ran is recorded', async () => {
    const harness = await open();
    await harness.plan(planOf(A));
    await new HarnessAgent(harness, 'alpha', 's1').claims(A, { lease_duration_seconds: LEASE_S });
    harness.coordinator.close();
    harness.advance(10 * LEASE_S);
    await harness.restart();
    await untilRecorded(harness, A, 'CLAIM_LOST');
  });

  // req: STL-005
  test('a claim that is held without an end is reported as stale', async () => {
    const harness = await restartedWithClaim({ stale_policy: 'hold', stale_threshold_seconds: 600 });
    await untilRecorded(harness, A, 'CLAIM_LOST');
    expect(await countsOf(harness)).toMatchObject([[P.project_id, { active_claims: 1, stale_claims: 1 }]]);
  });
});

describe('a file store with many idle projects', () => {
  const IDLE_COUNT = 300;
  const held: ProjectKey = { tenant_id: 'acme', project_id: 'held' };

  /** Counts the files that are opened, by project. */
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

  test('opens the logs of the projects with claims only, and an idle one when it is used', async () => {
    const root = await mkdtemp(join(tmpdir(), 'idle-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const environment = new ManualEnvironment('2026-01-04T06:00:00.000Z');
    const { clock } = environment;
    const first = await openFileStore({ root, clock });
    const idle = Array.from({ length: IDLE_COUNT }, (_, nr) => ({ ...held, project_id: `idle-${nr}` }));
    await first.commit(idle.map((key) => transactionOf(key, { swaps: [swapOf(key, '~a', 0)] })));
    const until_ms = (await first.now()) + LEASE_S * 1000;
    const permits = [{ scope: 'claims', member: '~a', until_ms, on_head: true }] as const;
    await first.commit([transactionOf(held, { swaps: [swapOf(held, '~a', 0)], permits })]);
    await first.close();

    const { disk, opened } = countingDisk();
    const store = await openFileStore({ root, clock, disk });
    onTestFinished(() => store.close());
    const coordinator = await Coordinator.open({ store, environment });
    onTestFinished(() => coordinator.close());
    await coordinator.waitForHeldProjects();
    expect((await coordinator.projectCounts()).map(({ key }) => key.project_id)).toEqual(['held']);
    expect(opened.size).toBeLessThan(5);
    expect([...opened].filter((name) => name.startsWith('idle-'))).toEqual([]);
    expect(await store.projects('acme')).toContain('idle-7');
    expect((await store.projects('acme')).length).toBeGreaterThan(IDLE_COUNT);
    const used = { ...held, project_id: 'idle-7' };
    expect(await store.heads(used, ['~a'])).toMatchObject([{ subject: '~a', seq: 1 }]);
    expect([...opened].filter((name) => name.startsWith('idle-'))).toEqual(['idle-7']);
  });
});
