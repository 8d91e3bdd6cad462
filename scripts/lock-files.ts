import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

interface LockFile<Package> {
  readonly file: string;
  /** Keyed by path, e.g. `node_modules/a/node_modules/b`; the empty path is the project itself. */
  readonly packages: Readonly<Record<string, Package>>;
}

/** Reads every lock file that git tracks. */
export function readLockFiles<Package>(): LockFile<Package>[] {
  const files = execFileSync('git', ['ls-files', '*package-lock.json'], { encoding: 'utf8' })
    .trim()
    .split('\n');
  return files.map((file) => ({
    file,
    packages: (JSON.parse(readFileSync(file, 'utf8')) as LockFile<Package>).packages,
  }));
}
