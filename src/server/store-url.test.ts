import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, inject, onTestFinished, test } from 'vitest';
import { openStoreUrl } from './store-url.js';

const ignoreWarnings = () => {};

test('opens the same folder for every spelling of its file URL', async () => {
  const folder = await mkdtemp(join(tmpdir(), '100% store '));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const secrets = [];
  for (const url of [`file:${folder}`, `file:${folder}/.`, pathToFileURL(folder).href]) {
    const { store } = await openStoreUrl(url, ignoreWarnings);
    secrets.push((await store.meta()).secret);
    await store.close();
  }
  expect(new Set(secrets).size).toBe(1);
});

test('opens memory: without durability, and refuses unknown URLs', async () => {
  const { store } = await openStoreUrl('memory:', ignoreWarnings);
  expect(store.capabilities.durable).toBe(false);
  for (const url of ['', 'file:', 'ftp://x', './folder']) {
    await expect(openStoreUrl(url, ignoreWarnings)).rejects.toThrow(/Pass file:/);
  }
});

test('opens the store of a module, and requires GENESIS_BLOBS if the store keeps no large results', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'module-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'store.mjs');
  const memory = pathToFileURL(join(inject('built'), 'dist/stores/memory/memory-store.js')).href;
  await writeFile(
    file,
    `import { openMemoryStore } from '${memory}'; export const openStore = async () => openMemoryStore();`,
  );
  await expect(openStoreUrl(`module:${file}`, ignoreWarnings)).rejects.toThrow(
    /no property "blobs".*GENESIS_BLOBS=file:/s,
  );
  const { store } = await openStoreUrl(`module:${file}`, ignoreWarnings, `file:${folder}/blobs`);
  expect(store.capabilities.name).toBe('memory');
});

test('refuses a module in a routes file, which another user may have written', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'routes-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'ran.mjs'), 'globalThis.ranFromRoutes = true;');
  await writeFile(join(folder, 'tenants.yml'), `default: module:${join(folder, 'ran.mjs')}\n`);
  await expect(openStoreUrl(`routes:${join(folder, 'tenants.yml')}`, ignoreWarnings)).rejects.toThrow(
    /must not name a module/,
  );
  expect('ranFromRoutes' in globalThis).toBe(false);
});
