import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { release } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { CheckLimits, WorkCopy } from './check-execution.js';

/** What a command sees in the sandbox, as arguments of bubblewrap and prlimit. */

const SYSTEM_FOLDERS = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'opt', 'nix'];
/** The files of /etc that programs need. Other files may contain secrets. */
const ETC_FILES = [
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'nsswitch.conf', 'localtime', 'timezone'],
  ...['ssl', 'pki', 'ca-certificates', 'ca-certificates.conf', 'mime.types', 'protocols', 'services'],
  ...['hosts', 'passwd', 'group'],
];
const PATH_FOLDERS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
/** Folders inside installed dependencies that tools write to. Those that exist are empty and writable in the sandbox. */
const CACHE_FOLDERS = ['.cache', '.vite', '.vite-temp', '.vitest'];
const SHARED_MEMORY_BYTES_MAX = 64 * 1024 * 1024;
/** Since this version the kernel counts the processes of each user namespace separately. */
const OWN_PROCESS_COUNT_SINCE = [5, 14] as const;

/** The whole environment of a command. */
export const sandboxEnvironment = (): Record<string, string> => ({
  PATH: [...nodeFolders().slice(0, 1), ...PATH_FOLDERS].join(delimiter),
  HOME: '/tmp',
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  CI: '1',
  NO_COLOR: '1',
});

/**
 * The folders of Node's programs and global packages; empty if Node is in a system folder. Version managers install Node
 * in the home folder.
 */
function nodeFolders(): string[] {
  const bin = dirname(realpathSync(process.execPath));
  if (SYSTEM_FOLDERS.some((name) => bin.startsWith(`/${name}/`))) return [];
  return [bin, join(dirname(bin), 'lib/node_modules')];
}

/** A folder of the host that is read-only in the sandbox. */
interface SandboxBind {
  readonly source: string;
  readonly target: string;
  /** Folders below the target that are empty and writable. */
  readonly caches: readonly string[];
}

export function sandboxBinds({
  folder,
  read_only_mounts,
}: Pick<WorkCopy, 'folder' | 'read_only_mounts'>): SandboxBind[] {
  const dependencies = read_only_mounts.map(({ source, target }) => {
    const caches = CACHE_FOLDERS.filter((name) => isFolder(join(source, name)));
    return {
      source,
      target: `/project/${target}`,
      caches: caches.map((name) => `/project/${target}/${name}`),
    };
  });
  const node = nodeFolders()
    .filter(isFolder)
    .map((path) => ({ source: path, target: path, caches: [] }));
  return [{ source: folder, target: '/copy', caches: [] }, ...node, ...dependencies];
}

const isFolder = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Everything writable is in memory: at most `disk_bytes` in all folders together. */
export function sandboxArguments(binds: readonly SandboxBind[], { disk_bytes }: CheckLimits): string[] {
  const temporaryBytes = Math.floor(disk_bytes / 4);
  const sharedBytes = Math.min(SHARED_MEMORY_BYTES_MAX, Math.floor(disk_bytes / 16));
  const cacheCount = binds.reduce((sum, { caches }) => sum + caches.length, 0);
  // An eighth for all caches, because each is a file system of its own, which cannot share its size with the others.
  const cacheBytes = Math.min(sharedBytes, Math.floor(disk_bytes / 8 / Math.max(cacheCount, 1)));
  const projectBytes = disk_bytes - temporaryBytes - sharedBytes - cacheCount * cacheBytes;
  const memoryFolder = (path: string, bytes: number) => {
    return ['--perms', '1777', '--size', String(Math.max(bytes, 1)), '--tmpfs', path];
  };
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--uid', '1000', '--gid', '1000'],
    ...['--die-with-parent', '--new-session', '--hostname', 'sandbox'],
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...ETC_FILES.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', ...memoryFolder('/dev/shm', sharedBytes), '--remount-ro', '/dev'],
    ...memoryFolder('/tmp', temporaryBytes),
    ...memoryFolder('/project', projectBytes),
    ...binds.flatMap(({ source, target, caches }) => [
      ...['--ro-bind', source, target],
      ...caches.flatMap((path) => memoryFolder(path, cacheBytes)),
    ]),
    ...['--remount-ro', '/', '--chdir', '/'],
  ];
}

/** Shows a folder of the system in the sandbox. A folder such as /bin is a link on most systems, and stays one. */
function systemFolder(name: string): string[] {
  const stats = lstatSync(`/${name}`, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink()) return ['--symlink', readlinkSync(`/${name}`), `/${name}`];
  return stats?.isDirectory() ? ['--ro-bind', `/${name}`, `/${name}`] : [];
}

/**
 * Limits for each process: its writable memory, and the size of a file. The address space is not limited, because
 * runtimes reserve much more of it than they use.
 */
export const resourceLimits = ({ memory_bytes, disk_bytes }: CheckLimits): string[] => [
  `--data=${memory_bytes}`,
  `--fsize=${disk_bytes}`,
  '--core=0',
];

/**
 * Older kernels count all processes of the user, who may already have more than the limit. There, only the monitoring of
 * the process tree limits them. `hasOwnUser`: no other program runs as the user.
 */
export const processLimit = ({ processes }: CheckLimits, hasOwnUser: boolean): string[] =>
  hasOwnUser || hasOwnProcessCount() ? [`--nproc=${processes}`] : [];

function hasOwnProcessCount(): boolean {
  const [major = 0, minor = 0] = release().split('.').map(Number);
  const [sinceMajor, sinceMinor] = OWN_PROCESS_COUNT_SINCE;
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}
