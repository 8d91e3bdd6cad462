// node --test

// @ts-check
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeTests } from 'genesis-fleet/store/testing';
import { openStore } from './log-store.mjs';

const openFolder = (/** @type {string} */ folder) =>
  openStore({ parameters: new URLSearchParams({ folder }), warn: console.warn });

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  let store = await openFolder(folder);
  const reopen = async () => {
    await store.close();
    store = await openFolder(folder);
    return store;
  };
  return { store, reopen };
}

for (const { name, run } of storeTests({ open })) test(name, run);
