import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findSupplyFaults, type LockedOrigin } from './supply-chain.js';

const lockFiles = execFileSync('git', ['ls-files', '*package-lock.json'], { encoding: 'utf8' })
  .trim()
  .split('\n');
let count = 0;
const faults = lockFiles.flatMap((file) => {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockedOrigin> };
  count += Object.keys(lock.packages).length - 1;
  return findSupplyFaults(lock.packages, { isPublished: file === 'package-lock.json' }).map(
    (fault) => `${file}: ${fault}`,
  );
});

if (faults.length === 0) {
  process.stdout.write(`${count} packages have an agreed licence, a digest, and no unread install script.\n`);
} else process.stderr.write(`${faults.join('\n')}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
