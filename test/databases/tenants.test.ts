import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { Coordinator } from '../../src/coordinator/index.js';
import { openStoreUrl } from '../../src/server/store-url.js';
import { tenantSlug } from '../../src/stores/tenant-routes.js';
import { openWithLongTimeouts } from '../../src/stores/testing/open-with-long-timeouts.js';
import {
  DATABASE_NAMES,
  type DatabaseName,
  onSharedDatabase,
} from '../../src/stores/testing/shared-database.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const TASK = 'A-001-core';
const TENANTS = ['acme', 'Globex.Corp'] as const;
const quiet = () => {};

/** The URL of a database with `{tenant}` in its namespace. */
function urlPatternOf(url: string, name: DatabaseName, prefix: string): string {
  const namespace = `${prefix}_{tenant}`;
  if (name === 'mysql') return url.replace(/\/genesis_fleet$/, `/${namespace}`);
  if (name === 'dynamodb') return url.replace('/genesis_fleet?', `/${namespace}?`);
  return `${url}${url.includes('?') ? '&' : '?'}namespace=${namespace}`;
}

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    describe(`tenants in separate namespaces on ${name}`, () => {
      // req: TEN-003
      test('work concurrently, and each namespace holds only its own tenant', async () => {
        const cwd = await temporaryFolder();
        const prefix = `n${randomUUID().slice(0, 6)}`;
        const routes = join(cwd, 'tenants.yml');
        const urlPattern = urlPatternOf(url, name, prefix);
        await writeFile(routes, `default: ${JSON.stringify(urlPattern)}\n`);
        const storeUrl = `routes:${routes}`;
        const migrated = await runGen({ cwd }, 'migrate', '--store', storeUrl, '--tenant', TENANTS.join(','));
        expect(migrated).toMatchObject({ code: 0 });
        const { store, blobs } = await openStoreUrl(storeUrl, quiet);
        const coordinator = await Coordinator.open({ store, blobs });
        onTestFinished(async () => {
          coordinator.close();
          await store.close();
        });
        for (const tenant_id of TENANTS) {
          const project = { tenant_id, project_id: 'shop' };
          unwrap(await coordinator.plans.put(project, planOf(TASK)));
          const claim = { task_id: TASK, agent_id: 'a', session_id: 's-a' };
          expect(await coordinator.claims.claimTask(project, claim)).toMatchObject({
            claim: { generation: 1 },
          });
        }
        for (const tenantId of TENANTS) {
          const tenantStore = await openWithLongTimeouts(
            urlPattern.replace('{tenant}', tenantSlug(tenantId)),
          );
          const projectLists = await Promise.all(TENANTS.map((tenant) => tenantStore.projects(tenant)));
          await tenantStore.close();
          expect(projectLists.map((projects) => projects.length > 0)).toEqual(
            TENANTS.map((each) => each === tenantId),
          );
        }
        const secrets = await Promise.all(
          TENANTS.map(async (each) => (await (await store.storeOf?.(each))?.meta())?.secret),
        );
        expect(new Set(secrets).size).toBe(TENANTS.length);
      });
    });
  });
}

// req: TEN-004, TEN-005
test('the routes file gives a tenant its own database, and a database that is down affects no other tenant', async () => {
  const cwd = await temporaryFolder();
  const routes = join(cwd, 'tenants.yml');
  await writeFile(
    routes,
    `default: file:${cwd}/main\ntenants:\n  acme: file:${cwd}/acme\n  down: redis://127.0.0.1:9\n`,
  );
  const { store } = await openStoreUrl(`routes:${routes}`, quiet);
  const coordinator = await Coordinator.open({ store });
  onTestFinished(async () => {
    coordinator.close();
    await store.close();
  });
  const plan = planOf(TASK);
  for (const tenant_id of ['acme', 'globex']) {
    unwrap(await coordinator.plans.put({ tenant_id, project_id: 'shop' }, plan));
  }
  await expect(coordinator.plans.put({ tenant_id: 'down', project_id: 'shop' }, plan)).resolves.toMatchObject(
    {
      problem: 'UNAVAILABLE',
    },
  );
  expect(
    await coordinator.claims.claimTask(
      { tenant_id: 'acme', project_id: 'shop' },
      { task_id: TASK, agent_id: 'a', session_id: 's' },
    ),
  ).toMatchObject({ success: true });
  const acme = await openStoreUrl(`file:${cwd}/acme`, quiet).catch((error: Error) => error.message);
  expect(acme).toMatch(/one writer/);
});

test('an invalid routes file is refused with an error that names the file', async () => {
  const cwd = await temporaryFolder();
  const routes = join(cwd, 'tenants.yml');
  for (const text of ['', 'tenants: {}', 'default: 5', 'default: [', 'default: x\nother: y']) {
    await writeFile(routes, text);
    await expect(openStoreUrl(`routes:${routes}`, quiet)).rejects.toThrow(/tenants\.yml: /);
  }
  await expect(openStoreUrl(`routes:${cwd}/none.yml`, quiet)).rejects.toThrow(/none\.yml cannot be read/);
});
