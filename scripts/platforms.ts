/** The platforms on which `npm install` must work. Linux means glibc. */
export const PLATFORMS = [
  { os: 'linux', cpu: 'x64', libc: 'glibc' },
  { os: 'linux', cpu: 'arm64', libc: 'glibc' },
  { os: 'darwin', cpu: 'x64' },
  { os: 'darwin', cpu: 'arm64' },
  { os: 'win32', cpu: 'x64' },
] as const;

type Platform = (typeof PLATFORMS)[number];

/** The fields of a package in `package-lock.json` (lockfileVersion 3) that decide where it installs. */
export interface LockedPackage {
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Packages keyed by path, e.g. `node_modules/a/node_modules/b`. */
type LockedPackages = Readonly<Record<string, LockedPackage>>;

export const platformName = ({ os, cpu }: Platform): string => `${os}-${cpu}`;

/**
 * Returns the reasons why a lock file does not install on every platform. npm cannot check this itself: it
 * ignores `--os` and `--cpu` for plain dependencies, and checks them for the machine on which it runs.
 */
export function findPlatformFaults(packages: LockedPackages): string[] {
  return Object.entries(packages).flatMap(([path, locked]) => [
    ...requiredPackageFaults(path, locked),
    ...missingPackageFaults(packages, path, locked),
    ...uncoveredPlatformFaults(packages, path, locked),
  ]);
}

function requiredPackageFaults(path: string, locked: LockedPackage): string[] {
  if (!isPlatformPackage(locked) || locked.optional === true) return [];
  return [`${path} supports only some platforms and is not optional: npm install fails on the others.`];
}

/**
 * npm omits from the lock file any optional package that the registry lacked when the file was written; `npm ci` then
 * fails.
 */
function missingPackageFaults(packages: LockedPackages, path: string, locked: LockedPackage): string[] {
  return Object.keys(locked.optionalDependencies ?? {})
    .filter((name) => resolve(packages, path, name) === undefined)
    .map(
      (name) =>
        `${path || 'package.json'} names ${name}, which is missing in the lock file: pin a complete version.`,
    );
}

/**
 * A package that lists several platform packages picks the one with its binary. A single platform package (`fsevents`)
 * is an optional extra, and so is anything that belongs to an optional package.
 */
function uncoveredPlatformFaults(packages: LockedPackages, path: string, locked: LockedPackage): string[] {
  if (locked.optional === true) return [];
  const binaries = Object.keys(locked.optionalDependencies ?? {})
    .map((name) => resolve(packages, path, name))
    .filter(
      (lockedPackage) => lockedPackage !== undefined && isPlatformPackage(lockedPackage),
    ) as LockedPackage[];
  if (binaries.length < 2) return [];
  return PLATFORMS.filter((platform) => !binaries.some((binary) => installsOn(binary, platform))).map(
    (platform) => `${path} has no binary for ${platformName(platform)} in the lock file.`,
  );
}

const isPlatformPackage = ({ os, cpu, libc }: LockedPackage): boolean =>
  os !== undefined || cpu !== undefined || libc !== undefined;

function installsOn({ os, cpu, libc }: LockedPackage, platform: Platform): boolean {
  return (
    allows(os, platform.os) &&
    allows(cpu, platform.cpu) &&
    allows(libc, 'libc' in platform ? platform.libc : '')
  );
}

/** npm's rule: no list allows every value; `!name` forbids one. */
function allows(list: readonly string[] | undefined, value: string): boolean {
  if (list === undefined || list.includes('any')) return true;
  if (list.includes(`!${value}`)) return false;
  return list.includes(value) || list.every((entry) => entry.startsWith('!'));
}

/** Node's resolution: the nearest `node_modules` on the way up. */
function resolve(packages: LockedPackages, from: string, name: string): LockedPackage | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const lockedPackage = packages[folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`];
    if (lockedPackage !== undefined || folder === '') return lockedPackage;
  }
}
