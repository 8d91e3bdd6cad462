import { execFileSync } from 'node:child_process';

/** Runs git in a folder, with an author for commits. Returns what it prints. */
export const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
    cwd,
    encoding: 'utf8',
  }).trim();
