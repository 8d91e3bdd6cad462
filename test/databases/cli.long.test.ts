import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runGen } from '../../src/cli/testing/terminal.js';
import { Coordinator } from '../../src/coordinator/index.js';
import { evolveRecord, type RecordHead } from '../../src/core/record.js';
import { type OpenedStore, openStoreUrl } from '../../src/server/store-url.js';
import type { Store } from '../../src/stores/store.js';
import {
  DATABASE_NAMES,
  type DatabaseName,
  onSharedDatabase,
} from '../../src/stores/testing/shared-database.js';
import { transactionOf } from '../../src/stores/transaction.js';
import { KEY_LOG, writeUnboundKey } from '../security/support/unbound-key.js';
import { planOf, unwrap } from '../support/coordinator-harness.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const TASK = 'A-001-core';

/** URL of an unused namespace in the database. */
function unusedNamespaceUrl(url: string, name: DatabaseName): string {
  const namespace = `n${randomUUID().slice(0, 8)}`;
  const storeUrl = new URL(url);
  if (name === 'dynamodb' || name === 'mysql') storeUrl.pathname = `/${namespace}`;
  else storeUrl.searchParams.set('namespace', namespace);
  return storeUrl.href;
}

async function work(url: string): Promise<void> {
  const { store, blobs } = await openStoreUrl(url, () => {});
  const coordinator = await Coordinator.open({ store, blobs });
  const projectKey = { tenant_id: 'default', project_id: 'shop' };
  unwrap(await coordinator.plans.put(projectKey, planOf(TASK)));
  unwrap(await coordinator.claims.claimTask(projectKey, { task_id: TASK, agent_id: 'a', session_id: 's-a' }));
  const result = { task_id: TASK, session_id: 's-a', generation: 1, result_data: 1 };
  unwrap(await coordinator.holder.submitResult(projectKey, result));
  coordinator.close();
  await store.close();
}

async function onStore<T>(url: string, use: (opened: OpenedStore) => Promise<T>): Promise<T> {
  const opened = await openStoreUrl(url, () => {});
  return use(opened).finally(() => opened.store.close());
}

const idOf = (token: string): string => token.trim().split('_')[2] ?? '';

const statesOf = (url: string, keyIds: readonly string[]) =>
  onStore(url, async ({ store }) => {
    const coordinator = await Coordinator.open({ store });
    const ring = await coordinator.keys.openKeyRing();
    coordinator.close();
    return keyIds.map((keyId) => ring.find(keyId)?.key.state);
  });

/** Writes the key records of one store into another, as anyone with write access to its rows could. */
async function copyKeys(from: Store, to: Store): Promise<void> {
  for (const { position: _, ...event } of await from.events(KEY_LOG, { after: 0, limit: 100 })) {
    const { subject = '' } = event;
    const [stored] = await to.heads(KEY_LOG, [subject]);
    const head = evolveRecord((stored ?? null) as RecordHead | null, event);
    const swap = { subject, expected_seq: stored?.seq ?? 0, head, events: [event] };
    const [outcome] = await to.commit([transactionOf(KEY_LOG, { swaps: [swap] })]);
    expect(outcome?.kind).toBe('committed');
  }
}

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    describe(`gen on ${name}`, () => {
      // req: STO-013
      test('migrate reports the version, shows a dry run, migrates once, and then has nothing to do', async () => {
        const cwd = await temporaryFolder();
        const storeArgs = ['--store', unusedNamespaceUrl(url, name)];
        expect(await runGen({ cwd }, 'up', '--port', '0', ...storeArgs)).toMatchObject({
          code: 1,
          err: expect.stringContaining('gen migrate'),
        });
        expect(await runGen({ cwd }, 'migrate', '--status', ...storeArgs)).toMatchObject({
          code: 1,
          out: expect.stringContaining('at version 0 of'),
        });
        const dry = await runGen({ cwd }, 'migrate', '--dry-run', ...storeArgs);
        expect([dry.code, dry.out.length > 100]).toEqual([0, true]);
        expect(await runGen({ cwd }, 'migrate', ...storeArgs)).toMatchObject({
          code: 0,
          out: expect.stringMatching(/applied, now at version \d/),
        });
        for (const again of [['migrate'], ['migrate', '--status']]) {
          expect(await runGen({ cwd }, ...again, ...storeArgs)).toMatchObject({
            code: 0,
            out: expect.stringContaining('nothing to do'),
          });
        }
      });

      test('migrate binds keys that an older version left unbound, and a key works only in the store that made it', async () => {
        const cwd = await temporaryFolder();
        const [ours, theirs] = [unusedNamespaceUrl(url, name), unusedNamespaceUrl(url, name)];
        for (const storeUrl of [ours, theirs]) await runGen({ cwd }, 'migrate', '--store', storeUrl);
        const old = await onStore(ours, ({ store }) => writeUnboundKey(store));
        const migrated = await runGen({ cwd }, 'migrate', '--store', ours);
        expect([migrated.code, migrated.out]).toEqual([0, expect.stringContaining(idOf(old))]);
        const made = await runGen({ cwd }, 'key', 'create', '--role', 'admin', '--store', ours);
        const ids = [idOf(old), idOf(made.out)];
        expect(await statesOf(ours, ids)).toEqual(['active', 'active']);
        await onStore(ours, (from) => onStore(theirs, (to) => copyKeys(from.store, to.store)));
        expect(await statesOf(theirs, ids)).toEqual(['unbound', 'unbound']);
      });

      test('export, import and verify move a project out of the database and back', async () => {
        const cwd = await temporaryFolder();
        const [from, to] = [unusedNamespaceUrl(url, name), unusedNamespaceUrl(url, name)];
        for (const store of [from, to]) await runGen({ cwd }, 'migrate', '--store', store);
        const emptyStore = await runGen({ cwd }, 'verify', to);
        expect(emptyStore.out).toContain('contains no log yet');
        expect(emptyStore.out).not.toContain(new URL(to).password || 'no password');
        await work(from);
        const archive = await runGen({ cwd }, 'export', '--project', 'shop', '--store', from);
        expect(archive.code).toBe(0);
        await writeFile(join(cwd, 'shop.jsonl'), archive.out);
        for (const store of [to, `file:${cwd}/log`]) {
          expect(await runGen({ cwd }, 'import', 'shop.jsonl', '--store', store)).toMatchObject({
            code: 0,
            out: expect.stringContaining('default/shop imported: 4 events'),
          });
          const back = await runGen({ cwd }, 'export', '--project', 'shop', '--store', store);
          expect(back.out).toBe(archive.out);
        }
        for (const log of [from, to, 'log']) {
          expect(await runGen({ cwd }, 'verify', log)).toMatchObject({
            code: 0,
            out: expect.stringContaining('Every invariant holds'),
          });
        }
      });

      test('an unreachable URL or a wrong password is reported in one sentence without the password', async () => {
        const cwd = await temporaryFolder();
        const unreachable = new URL(unusedNamespaceUrl(url, name));
        if (name === 'dynamodb') unreachable.searchParams.set('endpoint', 'http://127.0.0.1:9');
        else unreachable.port = '9';
        const stranger = new URL(unusedNamespaceUrl(url, name));
        stranger.username = 'stranger';
        // DynamoDB takes credentials from the environment, not from the URL.
        for (const wrong of name === 'dynamodb' ? [unreachable] : [unreachable, stranger]) {
          wrong.password = 'hidden-from-all';
          for (const command of [['up', '--port', '0'], ['migrate']]) {
            const { code, out, err } = await runGen({ cwd }, ...command, '--store', wrong.href);
            expect([code, out]).toEqual([1, '']);
            expect(err).toMatch(/^[A-Z][^\n]+[.?]\n$/);
            expect(err).not.toContain('hidden-from-all');
          }
        }
      });
    });
  });
}
