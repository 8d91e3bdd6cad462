import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { TENANT_PROJECT } from '../../core/subject.js';
import {
  ACTIVE_FILE,
  idOfFolder,
  SEGMENTS_FOLDER,
  STORE_FILE,
  TENANTS_FOLDER,
} from '../../stores/file/layout.js';
import { nodeDisk } from '../../stores/file/node-disk.js';

/** One project's log: its folder, or a single file copied from one. */
export type LogLocation = { readonly folder: string } | { readonly file: string };

/** The logs at a path, which may be a store, a tenant, a project or a log file. Null if the path does not exist. */
export async function findLogs(path: string): Promise<LogLocation[] | null> {
  const kind = await pathKind(path);
  if (kind === 'nothing') return null;
  if (kind === 'file') return [locationOfFile(path)];
  const names = await nodeDisk.list(path);
  const isProject = isLog(names);
  if (isProject && !names.includes(TENANTS_FOLDER)) return [{ folder: path }];
  // A workspace's store: the log of its own project is in the root, the logs of other projects are in subfolders.
  if (isProject) return [{ folder: path }, ...(await logsOf(await foldersIn(join(path, TENANTS_FOLDER))))];
  return logsOf(names.includes(STORE_FILE) ? await foldersIn(path) : [path]);
}

/** The logs of the tenants' limits come first: the logs of projects are checked against them. */
async function logsOf(tenants: readonly string[]): Promise<LogLocation[]> {
  const unordered = (await Promise.all(tenants.map(foldersIn))).flat();
  const folders = [...unordered.filter(isOfTenant), ...unordered.filter((folder) => !isOfTenant(folder))];
  const names = await Promise.all(folders.map((folder) => nodeDisk.list(folder)));
  return folders.filter((_, index) => isLog(names[index] ?? [])).map((folder) => ({ folder }));
}

const isOfTenant = (folder: string): boolean => idOfFolder(basename(folder)) === TENANT_PROJECT;

function locationOfFile(file: string): LogLocation {
  const folder = dirname(file);
  if (basename(file) === ACTIVE_FILE) return { folder };
  return basename(folder) === SEGMENTS_FOLDER ? { folder: dirname(folder) } : { file };
}

async function foldersIn(path: string): Promise<string[]> {
  const names = (await nodeDisk.list(path)).filter((name) => idOfFolder(name) !== null).sort();
  const kinds = await Promise.all(names.map((name) => pathKind(join(path, name))));
  return names.filter((_, index) => kinds[index] === 'folder').map((name) => join(path, name));
}

const isLog = (names: readonly string[]): boolean =>
  names.includes(ACTIVE_FILE) || names.includes(SEGMENTS_FOLDER);

async function pathKind(path: string): Promise<'file' | 'folder' | 'nothing'> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) return 'nothing';
  return stats.isDirectory() ? 'folder' : 'file';
}
