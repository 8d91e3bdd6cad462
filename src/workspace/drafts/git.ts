import { execFile } from 'node:child_process';
import { TOTAL_BYTES_MAX } from '../../core/graph/manifest.js';

export type GitResult =
  | { readonly ok: true; readonly out: Buffer }
  | { readonly ok: false; readonly message: string };

/** What could run a program of somebody else's choosing is off: no hook, no monitor, no tool for differences. */
const SAFE_GIT_OPTIONS = [
  ...['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.untrackedCache=false'],
  ...['-c', 'core.quotePath=false', '-c', 'diff.external=', '-c', 'submodule.recurse=false'],
];

/** Everybody waits for the round in which an agent's worktree is looked at: files without end must not hold it up. */
const GIT_TIMEOUT_MS = 60_000;

interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly time_max_ms?: number;
}

/** Runs git, never through a shell. What fails is said in git's own words. */
export function runGit(
  cwd: string,
  args: readonly string[],
  { env, input, time_max_ms = GIT_TIMEOUT_MS }: GitOptions = {},
): Promise<GitResult> {
  const bounds = { maxBuffer: 2 * TOTAL_BYTES_MAX, timeout: time_max_ms, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    const child = execFile(
      'git',
      [...SAFE_GIT_OPTIONS, ...args],
      { cwd, encoding: 'buffer', env: { ...cleanEnv(), ...env }, ...bounds },
      (error, out, stderr) => {
        if (error === null) resolve({ ok: true, out });
        else if (error.killed)
          resolve({ ok: false, message: `git ${args[0]} took too long, or said too much` });
        else resolve({ ok: false, message: stderr.toString('utf8').trim().slice(0, 500) || error.message });
      },
    );
    // git may be gone before it has read everything; its exit code tells.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });
}

/** A hook that calls us has git's own variables set, and they would lead to another repository. */
function cleanEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  return { ...Object.fromEntries(kept), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
}

export const nullSeparated = (out: Buffer): string[] =>
  out
    .toString('utf8')
    .split('\0')
    .filter((name) => name !== '');
