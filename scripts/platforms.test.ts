import { describe, expect, it } from 'vitest';
import { readLockFiles } from './lock-files.js';
import { findPlatformFaults, type LockedPackage, PLATFORMS, platformName } from './platforms.js';

const binaries = (names: readonly string[]): Record<string, LockedPackage> =>
  Object.fromEntries(
    names.map((name) => {
      const [os = '', cpu = ''] = name.split('-');
      return [`node_modules/@tool/${name}`, { optional: true, os: [os], cpu: [cpu] }];
    }),
  );
const all = PLATFORMS.map(platformName);
const tool: LockedPackage = {
  optionalDependencies: Object.fromEntries(all.map((name) => [`@tool/${name}`, '1.0.0'])),
};

describe('a lock file', () => {
  it('installs everywhere when every platform has its binary', () => {
    expect(findPlatformFaults({ 'node_modules/tool': tool, ...binaries(all) })).toEqual([]);
  });

  it('is refused when a package for some platforms only is a required dependency', () => {
    const faults = findPlatformFaults({ 'node_modules/engine': { os: ['linux'], cpu: ['x64'] } });
    expect(faults).toEqual([expect.stringContaining('node_modules/engine supports only some platforms')]);
  });

  it('is refused when the binary for a platform is missing', () => {
    const incomplete = all.filter((name) => name !== 'darwin-arm64');
    expect(findPlatformFaults({ 'node_modules/tool': tool, ...binaries(incomplete) })).toEqual([
      expect.stringContaining('names @tool/darwin-arm64, which is missing in the lock file'),
      expect.stringContaining('has no binary for darwin-arm64'),
    ]);
  });

  it('is refused when the only Linux binary is for musl', () => {
    const packages = { 'node_modules/tool': tool, ...binaries(all) };
    const musl = { optional: true, os: ['linux'], cpu: ['arm64'], libc: ['musl'] };
    expect(findPlatformFaults({ ...packages, 'node_modules/@tool/linux-arm64': musl })).toEqual([
      expect.stringContaining('has no binary for linux-arm64'),
    ]);
  });

  it('may have a single optional package for one platform', () => {
    const watcher = { optionalDependencies: { fsevents: '^2.0.0' } };
    const fsevents = { optional: true, os: ['darwin'] };
    expect(
      findPlatformFaults({ 'node_modules/watcher': watcher, 'node_modules/fsevents': fsevents }),
    ).toEqual([]);
  });

  it('may nest binaries below the package that names them', () => {
    const nested = Object.fromEntries(
      Object.entries(binaries(all)).map(([path, locked]) => [`node_modules/tool/${path}`, locked]),
    );
    expect(findPlatformFaults({ 'node_modules/tool': tool, ...nested })).toEqual([]);
  });
});

// req: OPS-001
it('every lock file of this repository installs on Linux, macOS and Windows', () => {
  const faults = readLockFiles<LockedPackage>().map(({ packages }) => findPlatformFaults(packages));
  expect(faults.length).toBeGreaterThan(0);
  expect(faults.flat()).toEqual([]);
  expect(new Set(PLATFORMS.map(({ os }) => os))).toEqual(new Set(['linux', 'darwin', 'win32']));
});
