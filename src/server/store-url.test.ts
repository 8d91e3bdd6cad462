import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openStoreUrl } from './store-url.js';

const quiet = () => {};

test('opens the same folder for every spelling of its file URL', async () => {
  const folder = await mkdtemp(join(tmpdir(), '100% store '));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const secrets = [];
  for (const url of [`file:${folder}`, `file:${folder}/.`, pathToFileURL(folder).href]) {
    const { store } = await openStoreUrl(url, quiet);
    secrets.push((await store.meta()).secret);
    await store.close();
  }
  expect(new Set(secrets).size).toBe(1);
});

test('opens memory: without durability, and refuses unknown URLs', async () => {
  const { store } = await openStoreUrl('memory:', quiet);
  expect(store.capabilities.durable).toBe(false);
  for (const url of ['', 'file:', 'ftp://x', './folder']) {
    await expect(openStoreUrl(url, quiet)).rejects.toThrow(/Pass file:/);
  }
});
