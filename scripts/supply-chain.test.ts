import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type CheckedPackage, findSupplyFaults } from './supply-chain.js';

const ALLOWED_PACKAGE: CheckedPackage = { license: 'MIT', integrity: 'sha512-x' };
const faultsOf = (
  change: Partial<Record<keyof CheckedPackage, unknown>>,
  { name = 'left-pad', isPublished = true } = {},
): string[] => {
  const changed = { ...ALLOWED_PACKAGE, ...change } as CheckedPackage;
  return findSupplyFaults({ '': {}, [`node_modules/a/node_modules/${name}`]: changed }, { isPublished });
};

describe('a package in the lock file', () => {
  it('is accepted with an allowed licence, a digest and no install script', () => {
    expect(faultsOf({})).toEqual([]);
  });

  it.each(['MIT OR GPL-3.0-only', '(MIT OR CC0-1.0)', 'MIT AND ISC'])('is accepted under %s', (license) => {
    expect(faultsOf({ license })).toEqual([]);
  });

  it.each(['GPL-3.0-only', 'SEE LICENSE IN LICENSE.md', 'MIT AND AGPL-3.0-only', ''])(
    'is refused under %j',
    (license) => {
      expect(faultsOf({ license })).toEqual([expect.stringContaining('not allowed')]);
    },
  );

  it('is refused without a licence', () => {
    expect(faultsOf({ license: undefined })).toEqual([expect.stringContaining('has no licence')]);
  });

  it('is refused without a digest, for example a package from git', () => {
    const origin = { integrity: undefined, resolved: 'git+ssh://git@example.com/a/b.git#0a' };
    expect(faultsOf(origin)).toEqual([
      expect.stringContaining('no digest'),
      expect.stringContaining('is loaded from git+ssh:'),
    ]);
  });

  it('is refused with an install script that is not on the list', () => {
    expect(faultsOf({ hasInstallScript: true, dev: true })).toEqual([
      expect.stringContaining('runs a script when it is installed'),
    ]);
  });

  it('is refused with any install script that users would run', () => {
    const name = 'esbuild';
    expect(faultsOf({ hasInstallScript: true, dev: true }, { name })).toEqual([]);
    expect(faultsOf({ hasInstallScript: true }, { name, isPublished: false })).toEqual([]);
    expect(faultsOf({ hasInstallScript: true }, { name })).toEqual([
      expect.stringContaining('when the published package is installed'),
    ]);
  });
});

interface Bill {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes?: unknown;
  }[];
}

const npmHasSbom = Number(execFileSync('npm', ['--version'], { encoding: 'utf8' }).split('.')[0]) >= 10;

it.skipIf(!npmHasSbom)('npm run sbom lists every package that is installed with ours, and its digest', () => {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { sbom: string } };
  const [command = ''] = manifest.scripts.sbom.split(' > ');
  const bill = JSON.parse(execFileSync('sh', ['-c', command], { encoding: 'utf8' })) as Bill;
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean; devOptional?: boolean; link?: boolean }>;
  };
  const installed = Object.entries(lock.packages)
    // A linked package is a folder of this repository.
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .filter(([, { dev, devOptional }]) => dev !== true && devOptional !== true)
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`);
  const listed = bill.components.map(({ name, version }) => `${name}@${version}`);
  expect(bill.bomFormat).toBe('CycloneDX');
  expect(installed.filter((each) => !listed.includes(each))).toEqual([]);
  expect(installed.length).toBeGreaterThan(12);
  const withoutDigest = bill.components.filter(({ hashes }) => hashes === undefined);
  expect(withoutDigest.map(({ name }) => name).filter((name) => name !== 'dashboard')).toEqual([]);
});
