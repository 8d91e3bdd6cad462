import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { ManualEnvironment } from '../../../test/support/manual-environment.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { runGen } from '../testing/terminal.js';

/** A project whose folder sorts before the folder of the tenant's limits. */
const P = { tenant_id: 'acme', project_id: '1-shop' };
const TASK = 'A-001-a';

async function withCoordinator(
  root: string,
  start: string,
  step: (coordinator: Coordinator) => Promise<void>,
) {
  const environment = new ManualEnvironment(start);
  const store = await openFileStore({ root, clock: environment.clock });
  const coordinator = await Coordinator.open({ store, environment });
  await step(coordinator);
  coordinator.close();
  await store.close();
}

/** A store whose tenant requires signatures since 06:00, with unsigned work that another coordinator accepted at `workedAt`. */
async function storeWithUnsignedWork(workedAt: string): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), 'unsigned-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await withCoordinator(join(cwd, 'log'), '2026-01-04T06:00:00.000Z', async (coordinator) => {
    unwrap(await coordinator.settings.putLimits(P.tenant_id, { require_signatures: true }));
  });
  await withCoordinator(join(cwd, 'other'), workedAt, async (coordinator) => {
    unwrap(await coordinator.plans.put(P, planOf(TASK)));
    const handle = { task_id: TASK, session_id: 's1' };
    unwrap(await coordinator.claims.claimTask(P, { ...handle, agent_id: 'alpha' }));
    expect(
      await coordinator.holder.submitResult(P, { ...handle, generation: 1, result_data: 1 }),
    ).toMatchObject({
      accepted: true,
    });
  });
  const projectFolder = join(P.tenant_id, P.project_id);
  await cp(join(cwd, 'other', projectFolder), join(cwd, 'log', projectFolder), { recursive: true });
  return cwd;
}

it('notes results without the signature that the tenant required, and does not call them violations', async () => {
  const cwd = await storeWithUnsignedWork('2026-01-04T07:00:00.000Z');
  const json = JSON.parse((await runGen({ cwd }, 'verify', 'log', '--json')).out);
  const [note] = json.logs.flatMap(({ notes }: { notes: object[] }) => notes);
  expect(note).toMatchObject({ rule: 'UNSIGNED', subject: TASK });
  const { code, out } = await runGen({ cwd }, 'verify', 'log');
  expect(out).toMatch(
    /note: log\/acme\/1-shop\/events\.jsonl:\d+: UNSIGNED A-001-a: position \d+: a command/,
  );
  expect(code).toBe(0);
});

it('gen verify reports no results from before signatures were required', async () => {
  const cwd = await storeWithUnsignedWork('2026-01-04T05:00:00.000Z');
  const { code, out } = await runGen({ cwd }, 'verify', 'log');
  expect(out).toContain('acme/1-shop');
  expect(out).not.toContain('UNSIGNED');
  expect(code).toBe(0);
});
