import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readLockFiles } from './lock-files.js';
import { findPlatformFaults, type LockedPackage, PLATFORMS, platformName } from './platforms.js';

/** Reports the platforms missing from `prebuilds/`, where a native addon keeps one folder of binaries per platform. */
function findPrebuildFaults(path: string): string[] {
  const folder = join(path, 'prebuilds');
  if (!existsSync(folder)) return [];
  const prebuilt = readdirSync(folder);
  return PLATFORMS.map(platformName)
    .filter((platform) => !prebuilt.includes(platform))
    .map((platform) => `${path} has no prebuilt binary for ${platform}.`);
}

const lockFiles = readLockFiles<LockedPackage>();
const faults = lockFiles.flatMap(({ file, packages }) => {
  const prebuilds = Object.keys(packages)
    .filter((path) => path !== '')
    .flatMap((path) => findPrebuildFaults(join(dirname(file), path)));
  return [...findPlatformFaults(packages), ...prebuilds].map((fault) => `${file}: ${fault}`);
});

const platforms = PLATFORMS.map(platformName).join(', ');
if (faults.length === 0) process.stdout.write(`${lockFiles.length} lock files install on ${platforms}.\n`);
else process.stderr.write(`${faults.join('\n')}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
