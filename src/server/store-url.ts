import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Blobs, MemoryBlobs, routedBlobs, withOlderBlobs } from '../stores/blobs.js';
import { isModuleUrl, openModuleStore } from '../stores/custom/module-store.js';
import { databaseOf } from '../stores/databases.js';
import { openFileStore } from '../stores/file/file-store.js';
import { FolderBlobs } from '../stores/file/folder-blobs.js';
import { STORE_FILE } from '../stores/file/layout.js';
import { openMemoryStore } from '../stores/memory/memory-store.js';
import { RoutedStore } from '../stores/routed-store.js';
import { type Store, StoreRefused, StoreUnavailable } from '../stores/store.js';
import { parseRoutes, type TenantRoutes } from '../stores/tenant-routes.js';
import { openWorkspaceStore } from '../workspace/store.js';
import { findTrackedSecrets, STORE_SECRETS } from '../workspace/tracked-secrets.js';
import { Workspace } from '../workspace/workspace.js';
import { folderOf, openBlobsUrl } from './blobs-url.js';

export interface OpenedStore {
  readonly store: Store;
  readonly blobs: Blobs;
}

type Warn = (sentence: string) => void;

const ROUTES_SCHEME = 'routes:';
const WORKSPACE_SCHEME = 'workspace:';

/**
 * Opens a store URL: `file:./dir`, `workspace:./project`, `memory:`, a database, `routes:./tenants.yml`, which names a
 * store for each tenant, or `module:./my-store.js`, which runs that file. `blobsUrl`: where new large results are kept
 * instead of in the store. Large results that the store already has are still read.
 */
export async function openStoreUrl(url: string, warn: Warn, blobsUrl?: string): Promise<OpenedStore> {
  // Opened before the store, so that no store is left open if the URL of the blobs is refused.
  const newBlobs = blobsUrl === undefined ? undefined : await openBlobsUrl(blobsUrl);
  const { store, blobs } = await openWithOwnBlobs(url, warn);
  if (newBlobs !== undefined)
    return { store, blobs: blobs === undefined ? newBlobs : withOlderBlobs(newBlobs, blobs) };
  if (blobs !== undefined) return { store, blobs };
  await store.close();
  throw new StoreRefused(
    `The store that ${url} opens has no property "blobs", so it cannot keep large results. Set GENESIS_BLOBS=file:./folder, or give the store that property.`,
  );
}

async function openWithOwnBlobs(
  url: string,
  warn: Warn,
): Promise<{ readonly store: Store; readonly blobs?: Blobs | undefined }> {
  if (isModuleUrl(url)) {
    const store = await openModuleStore(url, warn);
    return { store, blobs: store.blobs };
  }
  return url.startsWith(ROUTES_SCHEME) ? openRouted(await readRoutesUrl(url), warn) : openSingle(url, warn);
}

export async function readRoutesUrl(url: string): Promise<TenantRoutes> {
  const file = resolve(url.slice(ROUTES_SCHEME.length));
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new StoreRefused(
      `The routes file ${file} cannot be read (${(error as Error).message}). It must name the store of each tenant: see docs/stores.md.`,
    );
  });
  return parseRoutes(text, file);
}

export const isRoutesUrl = (url: string): boolean => url.startsWith(ROUTES_SCHEME);

async function openRouted(routes: TenantRoutes, warn: Warn): Promise<OpenedStore> {
  const blobs = new Map<Store, Blobs>();
  const open = async (url: string) => {
    const opened = url === routes.defaultUrl ? await openSingle(url, warn) : await openTenantStore(url, warn);
    blobs.set(opened.store, opened.blobs);
    return opened.store;
  };
  const store = await RoutedStore.open(routes.defaultUrl, routes.urlOf, open, routes.tenantIds);
  const blobsOf = async (tenantId: string) => blobs.get(await store.storeOf(tenantId)) as Blobs;
  return { store, blobs: routedBlobs(blobsOf) };
}

/** The operator sees the error as a warning; the tenant is told to wait, and other tenants are not affected. */
async function openTenantStore(url: string, warn: Warn): Promise<OpenedStore> {
  try {
    return await openSingle(url, warn);
  } catch (error) {
    warn(`${withoutPassword(url)}: ${(error as Error).message}`);
    throw new StoreUnavailable('The store of this tenant is unavailable. The server log has the cause.');
  }
}

async function openSingle(url: string, warn: Warn): Promise<OpenedStore> {
  // Another user may have written the routes file, so it must not decide which code runs.
  if (isModuleUrl(url))
    throw new StoreRefused(
      `${url}: a routes file must not name a module. Pass the module with --store or GENESIS_STORE.`,
    );
  if (url === 'memory:') return { store: openMemoryStore(), blobs: new MemoryBlobs() };
  const database = await databaseOf(url);
  if (database !== null) {
    const store = await database.open(url);
    return { store, blobs: store.blobs };
  }
  if (url.startsWith(WORKSPACE_SCHEME)) {
    return openWorkspaceStore(new Workspace(resolve(url.slice(WORKSPACE_SCHEME.length))), warn);
  }
  const root = folderOf(url);
  if (root === null) {
    throw new StoreRefused(
      `Unknown store URL ${JSON.stringify(withoutPassword(url))}. Pass file:./folder, workspace:./project, postgres://…, mysql://…, ` +
        'redis://…, dynamodb://region/prefix, routes:./tenants.yml, module:./my-store.js, or memory: for no persistence.',
    );
  }
  return { store: await openFolderStore(root, warn), blobs: new FolderBlobs(root) };
}

/** A new store gets its own `.gitignore`, since its files are local and its secret must not be shared. */
async function openFolderStore(root: string, warn: Warn): Promise<Store> {
  const isNew = !existsSync(join(root, STORE_FILE));
  const { hasKeys } = await findTrackedSecrets(root, STORE_SECRETS);
  const untrusted = hasKeys ? { untrusted_files: 'secret' as const } : {};
  const store = await openFileStore({ root, ...untrusted, onWarning: warn });
  // If the file cannot be written, the store itself reports what is wrong with the folder.
  if (isNew) await writeFile(join(root, '.gitignore'), '*\n', { flag: 'wx' }).catch(() => {});
  return store;
}

/** The URL with its password masked. */
export const withoutPassword = (url: string): string =>
  url.replace(/^([a-z]+:\/\/[^/:@]*):[^/]*@/, '$1:***@');
