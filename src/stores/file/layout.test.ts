import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { openFileStore } from './file-store.js';
import { folderName, idOfFolder, StoreLayout } from './layout.js';

it.each([
  ['demo', 'demo'],
  ['_tenant', '_tenant'],
  ['Demo', '%44emo'],
  ['..', '%2E.'],
  ['.hidden', '%2Ehidden'],
  ['a/../../b', 'a%2F..%2F..%2Fb'],
  ['50%', '50%25'],
  ['lock', '%6Cock'],
  ['store.json', '%73tore.json'],
  ['ü', '%C3%BC'],
])('maps the id %s to the folder %s and back', (id, name) => {
  expect(folderName(id)).toBe(name);
  expect(idOfFolder(name)).toBe(id);
});

it('refuses ids that cannot be folder names', () => {
  expect(() => folderName('')).toThrow(/cannot name a folder/);
  const layout = new StoreLayout('/store');
  expect(() => layout.projectFolder({ tenant_id: 't', project_id: 'x'.repeat(500) })).toThrow(/1 to 200/);
});

it('places the home project in the root, and others where they cannot collide with its files', () => {
  const layout = new StoreLayout('/store', { tenant_id: 't', project_id: 'p' });
  expect(layout.projectFolder({ tenant_id: 't', project_id: 'p' })).toBe('/store');
  expect(layout.projectFolder({ tenant_id: 't', project_id: 'segments' })).toBe('/store/tenants/t/segments');
  expect(layout.projectFolder({ tenant_id: 'inbox', project_id: 'p' })).toBe('/store/tenants/inbox/p');
});

it('ignores folders whose names it did not create', () => {
  for (const name of ['Demo', '%64emo', 'a b', '.git', '%2', '..']) expect(idOfFolder(name)).toBeNull();
});

it('keeps its secret readable by its owner only, and unchanged when it is reopened', async () => {
  const root = join(await temporaryFolder(), 'new', 'store');
  const store = await openFileStore({ root });
  const meta = await store.meta();
  expect(meta.secret).toMatch(/^[0-9a-f]{64}$/);
  expect((await stat(join(root, 'store.json'))).mode & 0o777).toBe(0o600);
  expect((await stat(root)).mode & 0o777).toBe(0o700);
  await store.close();
  const reopened = await openFileStore({ root });
  expect(await reopened.meta()).toEqual(meta);
  await reopened.close();
});
