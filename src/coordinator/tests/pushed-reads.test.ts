import { expect, it, onTestFinished } from 'vitest';
import { PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { ManualEnvironment } from '../../../test/support/manual-environment.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { BLOCK_BYTES } from '../../stores/file/block-writer.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { meteredDisk } from '../../stores/file/metered-disk.testing.js';
import { Coordinator } from '../coordinator.js';
import { MemoryBlobs } from '../index.js';

const TASKS = 3000;
const limits = { max_concurrent_claims: TASKS + 1 };
const FREE = 'E-001-free';
const TASKS_PER_SECOND = 50;
const taskOf = (number: number) => `${'ABCD'[number % 4]}-${String((number >> 2) + 1).padStart(3, '0')}-x`;

it.each(['before', 'after'])(
  'reads little of a long log for a pushed command, %s a restart',
  async (when) => {
    const disk = meteredDisk();
    const root = await temporaryFolder();
    const environment = new ManualEnvironment('2026-01-04T06:00:00.000Z');
    const open = async () => {
      const store = await openFileStore({ root, disk, clock: environment.clock });
      const coordinator = await Coordinator.open({ store, environment, blobs: new MemoryBlobs(), limits });
      const close = async () => {
        coordinator.close();
        await store.close();
      };
      return { store, coordinator, close };
    };
    let opened = await open();
    onTestFinished(() => opened.close());
    let { coordinator } = opened;
    unwrap(
      await coordinator.plans.put(
        PROJECT_KEY,
        planOf(FREE, ...Array.from({ length: TASKS }, (_, at) => taskOf(at))),
      ),
    );
    const ada = { agent_id: 'ada', session_id: 's-ada' };
    for (let from = 0; from < TASKS; from += TASKS_PER_SECOND) {
      environment.advance(1);
      const tasks = Array.from({ length: TASKS_PER_SECOND }, (_, at) => taskOf(from + at));
      for (const reply of await Promise.all(
        tasks.map((task_id) => coordinator.claims.claimTask(PROJECT_KEY, { task_id, ...ada })),
      ))
        unwrap(reply);
    }
    const events = await opened.store.events(PROJECT_KEY, { after: 0, limit: 100_000 });
    const logBytes = JSON.stringify(events).length;
    if (when === 'after') {
      await opened.close();
      opened = await open();
      ({ coordinator } = opened);
    }
    const claims = events.filter(({ event_type }) => event_type === 'CLAIM_ACQUIRED');
    const middle = claims[claims.length >> 1]?.event_id as string;
    const push = (event_id: string) =>
      coordinator.claims.claimTask(PROJECT_KEY, {
        ...{ task_id: FREE, agent_id: 'bob', session_id: 's-bob' },
        offline: { event_id, occurred_at: '2026-01-04T05:00:00.000Z' },
      });
    await coordinator.queries.status(PROJECT_KEY);
    disk.bytesRead = 0;
    expect(await push(middle)).toMatchObject({ problem: 'IDEMPOTENCY_CONFLICT' });
    expect(disk.bytesRead).toBeGreaterThan(0);
    expect(disk.bytesRead).toBeLessThan(6 * BLOCK_BYTES);
    expect(logBytes).toBeGreaterThan(20 * BLOCK_BYTES);
    disk.bytesRead = 0;
    expect(await push('01800000-0000-7000-8000-000000000001')).toMatchObject({ success: true });
    expect(disk.bytesRead).toBeLessThan(BLOCK_BYTES);
  },
);
