import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { verifyStore } from '../../src/coordinator/audit/verify/verify-store.js';
import { Coordinator } from '../../src/coordinator/index.js';
import { exportProject } from '../../src/coordinator/transfer/export-project.js';
import { importProject } from '../../src/coordinator/transfer/import-project.js';
import { type OpenedStore, openStoreUrl } from '../../src/server/store-url.js';
import type { ProjectKey, Store } from '../../src/stores/store.js';
import { isSelected } from '../../src/stores/testing/database.js';
import { skipGroup } from '../../src/stores/testing/on-database.js';
import { DATABASE_NAMES, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';

const LARGE = 'x'.repeat(100_000);
const folder = await mkdtemp(join(tmpdir(), 'genesis-move-'));
const openedStores = new Map<string, OpenedStore>();
const quiet = () => {};

for (const url of ['memory:', `file:${folder}`]) {
  const name = url.split(':', 1)[0] ?? '';
  if (isSelected(name)) openedStores.set(name, await openStoreUrl(url, quiet));
}
for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, async ({ url }) => {
    openedStores.set(name, await openStoreUrl(url, quiet));
  });
}
afterAll(async () => {
  for (const { store } of openedStores.values()) await store.close();
  await rm(folder, { recursive: true, force: true });
});

if (openedStores.size < 2)
  skipGroup('moving a project between stores', 'fewer than two stores are available');
else describe('a project moves unchanged between stores', describeMoves);

function describeMoves(): void {
  for (const from of openedStores.keys()) {
    for (const to of openedStores.keys()) {
      if (from === to) continue;
      test(`from ${from} to ${to}`, async () => {
        const [source, target] = [openedStores.get(from), openedStores.get(to)] as [OpenedStore, OpenedStore];
        const projectKey = { tenant_id: `t${randomUUID().slice(0, 8)}`, project_id: 'shop' };
        await createHistory(source, projectKey);
        const imported = await importProject(
          target.store,
          target.blobs,
          exportProject(source.store, source.blobs, projectKey),
        );
        expect(imported).toMatchObject({ ...projectKey, found: 0 });
        expect(await contents(target.store, projectKey)).toEqual(await contents(source.store, projectKey));
        for (const { store } of [source, target])
          expect((await verifyStore(store, projectKey, quiet)).breaks).toEqual([]);
        expect(await target.store.countPermits(projectKey.tenant_id, 'claims')).toBe(1);
        const coordinator = await Coordinator.open({ store: target.store, blobs: target.blobs });
        const { results } = unwrap(await coordinator.queries.listResults(projectKey, 'A-001-core'));
        const id = results.find(({ accepted }) => accepted)?.id ?? '';
        expect(await coordinator.queries.getResult(projectKey, 'A-001-core', id)).toMatchObject({
          result_data: LARGE,
        });
        coordinator.close();
      });
    }
  }
}

async function contents(store: Store, projectKey: ProjectKey) {
  const { position } = (await store.project(projectKey))!;
  const events = await store.events(projectKey, { after: 0, limit: 1000 });
  return { position, events, heads: await store.scanHeads(projectKey, { after: null, limit: 1000 }) };
}

/** Produces a takeover, a parked result, a result in a blob and a live claim. */
async function createHistory({ store, blobs }: OpenedStore, projectKey: ProjectKey): Promise<void> {
  const coordinator = await Coordinator.open({ store, blobs });
  const [done, held] = ['A-001-core', 'A-002-more'];
  const by = (agent: string) => ({ agent_id: agent, session_id: `s-${agent}` });
  const submission = (agent: string, generation: number, result_data: unknown) => ({
    task_id: done,
    session_id: `s-${agent}`,
    generation,
    result_data,
  });
  unwrap(await coordinator.plans.put(projectKey, planOf(done!, held!)));
  unwrap(await coordinator.claims.claimTask(projectKey, { task_id: done, ...by('alpha') }));
  unwrap(
    await coordinator.decisions.operate(projectKey, done!, 'reassign', {
      expected_generation: 1,
      ...by('beta'),
      reason: 'slow',
    }),
  );
  unwrap(await coordinator.holder.submitResult(projectKey, submission('alpha', 1, 'too late')));
  unwrap(await coordinator.holder.submitResult(projectKey, submission('beta', 2, LARGE)));
  unwrap(await coordinator.claims.claimTask(projectKey, { task_id: held, ...by('alpha') }));
  coordinator.close();
}
