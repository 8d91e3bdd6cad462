import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Blobs } from '../blobs.js';
import { type Store, StoreRefused } from '../store.js';

const SCHEME = 'module:';

/** What a module with a store exports, for `--store module:./my-store.js?folder=data`. */
export interface StoreModule {
  openStore(options: OpenModuleOptions): Promise<ModuleStore>;
}

export interface OpenModuleOptions {
  /** The part of the URL after the `?`. */
  readonly parameters: URLSearchParams;
  /** Prints a sentence for the operator. */
  readonly warn: (sentence: string) => void;
}

/** A store that may also keep the large results. */
export interface ModuleStore extends Store {
  readonly blobs?: Blobs | undefined;
}

export const isModuleUrl = (url: string): boolean => url.startsWith(SCHEME);

/**
 * Imports a module and opens its store. The import runs the module's code, so the URL must come from the operator: from
 * a command line or the environment, never from a file.
 */
export async function openModuleStore(
  url: string,
  warn: (sentence: string) => void,
  timeoutMs = OPEN_TIMEOUT_MS,
): Promise<ModuleStore> {
  const [path = '', query = ''] = url.slice(SCHEME.length).split(/\?(.*)/s);
  const file = resolve(path);
  return withinTime(file, timeoutMs, openFrom(file, { parameters: new URLSearchParams(query), warn }));
}

/** Enough for a database that has to start first. */
const OPEN_TIMEOUT_MS = 60_000;

/** Rejects if the store does not open in time. The timer also keeps the process alive until the message is printed. */
async function withinTime<T>(file: string, timeoutMs: number, opening: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const message = `${file} has not opened its store within ${timeoutMs / 1000} seconds. Check that its openStore resolves.`;
    timer = setTimeout(() => reject(new StoreRefused(message)), timeoutMs);
  });
  try {
    return await Promise.race([opening, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

async function openFrom(file: string, options: OpenModuleOptions): Promise<ModuleStore> {
  const { openStore } = await importFile(file);
  if (typeof openStore !== 'function') {
    throw new StoreRefused(`${file} does not export the function openStore. Add: ${SIGNATURE}`);
  }
  const store: unknown = await openOrRefuse(file, openStore, options);
  assertStore(file, store);
  return store;
}

const SIGNATURE = 'export async function openStore({ parameters, warn }) { … }';

async function importFile(file: string): Promise<Partial<StoreModule>> {
  try {
    return (await import(pathToFileURL(file).href)) as Partial<StoreModule>;
  } catch (error) {
    throw new StoreRefused(
      `${file} cannot be loaded: ${textOf(error)}. Correct the module, or pass another file.`,
    );
  }
}

async function openOrRefuse(file: string, openStore: StoreModule['openStore'], options: OpenModuleOptions) {
  try {
    return await openStore(options);
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    throw new StoreRefused(
      `The store of ${file} cannot be opened: ${textOf(error)}. Check the module and the parameters in its URL.`,
    );
  }
}

/** The text of an error. A module may throw any value, not only an `Error`. */
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const METHODS = [
  'commit',
  'heads',
  'scanHeads',
  'events',
  'redact',
  'project',
  'projects',
  'tenantIds',
  'countPermits',
  'projectsWithPermits',
  'now',
  'meta',
  'raiseIncarnation',
  'close',
] as const satisfies readonly (keyof Store)[];

const CAPABILITIES = {
  name: 'string',
  clock: 'string',
  single_writer: 'boolean',
  durable: 'boolean',
  commits_at_once: 'number',
} as const satisfies Partial<Record<keyof Store['capabilities'], string>>;

const BLOB_METHODS = ['put', 'get', 'size'] as const satisfies readonly (keyof Blobs)[];

/** Refuses a store that lacks a member, and names it. Otherwise the first command that uses the member would fail. */
function assertStore(file: string, opened: unknown): asserts opened is ModuleStore {
  const store = (opened ?? {}) as Record<string, unknown>;
  const refuseMember = (member: string, kind: string): never => {
    throw new StoreRefused(
      `The store that ${file} opens has no ${member} (${kind}). See the type Store of genesis-fleet/store.`,
    );
  };
  for (const method of METHODS) if (typeof store[method] !== 'function') refuseMember(method, 'a function');
  const capabilities = (store.capabilities ?? refuseMember('capabilities', 'an object')) as Record<
    string,
    unknown
  >;
  for (const [field, kind] of Object.entries(CAPABILITIES))
    if (typeof capabilities[field] !== kind) refuseMember(`capabilities.${field}`, `a ${kind}`);
  if (!['process', 'store', 'coordinator'].includes(capabilities.clock as string))
    refuseMember('capabilities.clock', 'process, store or coordinator');
  // A coordinator treats a store that has `openLog` as a `LogStore`.
  if ('openLog' in store && typeof store.openLog !== 'function')
    refuseMember('openLog', 'a function, or leave it out');
  const blobs = store.blobs as Record<string, unknown> | undefined;
  for (const method of BLOB_METHODS)
    if (blobs !== undefined && typeof blobs[method] !== 'function')
      refuseMember(`blobs.${method}`, 'a function');
}
