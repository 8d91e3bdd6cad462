import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { StoreRefused } from '../store.js';
import { openModuleStore } from './module-store.js';

const ignoreWarnings = (): void => {};

/** The URL of a module with this text. */
async function moduleUrlOf(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'module-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'store.mjs'), text);
  return `module:${join(folder, 'store.mjs')}`;
}

/** A store whose members do nothing, changed by `change`. */
const storeText = (change: string): string => `
  const names = 'commit heads scanHeads events redact project projects tenantIds countPermits projectsWithPermits now meta ' +
    'raiseIncarnation close';
  export async function openStore({ parameters, warn }) {
    warn('opened ' + parameters.get('folder'));
    const store = Object.fromEntries(names.split(' ').map((name) => [name, async () => name]));
    store.capabilities = { name: 'x', clock: 'store', single_writer: false, durable: true, commits_at_once: 1 };
    ${change}
    return store;
  }`;

test('passes the parameters of the URL to the module, and returns its store', async () => {
  const warnings: string[] = [];
  const url = `${await moduleUrlOf(storeText(''))}?folder=a%20b`;
  const store = await openModuleStore(url, (sentence) => warnings.push(sentence));
  expect(store.capabilities.name).toBe('x');
  expect(warnings).toEqual(['opened a b']);
});

test.each([
  ['delete store.scanHeads;', /has no scanHeads \(a function\)/],
  ['delete store.tenantIds;', /has no tenantIds \(a function\)/],
  ['delete store.projectsWithPermits;', /has no projectsWithPermits \(a function\)/],
  ['delete store.close;', /has no close \(a function\)/],
  ['delete store.capabilities;', /has no capabilities \(an object\)/],
  ['delete store.capabilities.durable;', /has no capabilities\.durable \(a boolean\)/],
  ["store.capabilities.clock = 'sundial';", /has no capabilities\.clock \(process, store or coordinator\)/],
  ['store.openLog = 1;', /has no openLog \(a function/],
  ['store.blobs = { put() {}, size() {} };', /has no blobs\.get \(a function\)/],
  ['return null;', /has no commit \(a function\)/],
])('names the missing member of a store: %s', async (change, message) => {
  const opening = openModuleStore(await moduleUrlOf(storeText(change)), ignoreWarnings);
  await expect(opening).rejects.toThrow(message);
  await expect(opening).rejects.toBeInstanceOf(StoreRefused);
});

test('says what is wrong with a module that has no store, or cannot be loaded', async () => {
  const without = await moduleUrlOf('export const store = 1;');
  await expect(openModuleStore(without, ignoreWarnings)).rejects.toThrow(
    /does not export the function openStore/,
  );
  const broken = await moduleUrlOf('throw new Error("no such database");');
  await expect(openModuleStore(broken, ignoreWarnings)).rejects.toThrow(/cannot be loaded: no such database/);
  const missing = openModuleStore('module:./no-such-store.mjs', ignoreWarnings);
  await expect(missing).rejects.toThrow(/no-such-store\.mjs cannot be loaded/);
});

test('names the module whose store cannot be opened, whatever it throws', async () => {
  const failing = await moduleUrlOf('export const openStore = async () => { throw new Error("no disk"); };');
  await expect(openModuleStore(failing, ignoreWarnings)).rejects.toThrow(
    /store\.mjs cannot be opened: no disk/,
  );
  await expect(openModuleStore(failing, ignoreWarnings)).rejects.toBeInstanceOf(StoreRefused);
  const thrown = await moduleUrlOf('throw null;');
  await expect(openModuleStore(thrown, ignoreWarnings)).rejects.toThrow(/store\.mjs cannot be loaded: null/);
});

test.each(['export const openStore = () => new Promise(() => {});', 'await new Promise(() => {});'])(
  'refuses a module that does not finish loading or opening: %s',
  async (text) => {
    const opening = openModuleStore(await moduleUrlOf(text), ignoreWarnings, 1);
    await expect(opening).rejects.toThrow(/store\.mjs has not opened its store within 0\.001 seconds/);
  },
);
