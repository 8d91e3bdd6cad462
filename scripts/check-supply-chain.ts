import { readLockFiles } from './lock-files.js';
import { type CheckedPackage, findSupplyFaults } from './supply-chain.js';

let count = 0;
const faults = readLockFiles<CheckedPackage>().flatMap(({ file, packages }) => {
  count += Object.keys(packages).length - 1;
  return findSupplyFaults(packages, { isPublished: file === 'package-lock.json' }).map(
    (fault) => `${file}: ${fault}`,
  );
});

if (faults.length === 0) {
  process.stdout.write(`${count} packages have an allowed licence, a digest and no new install script.\n`);
} else process.stderr.write(`${faults.join('\n')}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
