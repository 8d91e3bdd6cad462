import { execFile } from 'node:child_process';
import { TOTAL_BYTES_MAX } from '../core/methodology/definition/manifest.js';

export type GitResult =
  | { readonly ok: true; readonly out: Buffer }
  | { readonly ok: false; readonly message: string };

/** Turns off hooks, fsmonitor and external diffs, which run configured programs, and settings that change the output. */
const SAFE_GIT_OPTIONS = [
  ...['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.untrackedCache=false'],
  ...['-c', 'core.quotePath=false', '-c', 'diff.external=', '-c', 'submodule.recurse=false'],
];

/** Time limit of one git command: a worktree with endless files must not block other agents. */
const GIT_TIMEOUT_MS = 60_000;

interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly time_max_ms?: number;
}

/** Runs git without a shell. On failure the message is git's own, or says that git exceeded a limit. */
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
          resolve({ ok: false, message: `git ${args[0]} exceeded its time or output limit` });
        else resolve({ ok: false, message: stderr.toString('utf8').trim().slice(0, 500) || error.message });
      },
    );
    // git may exit before it has read its input; the exit code reports that.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });
}

/** What git prints, without white space at the end; null if it fails. */
export async function gitText(
  cwd: string,
  args: readonly string[],
  options?: GitOptions,
): Promise<string | null> {
  const result = await runGit(cwd, args, options);
  return result.ok ? result.out.toString('utf8').trimEnd() : null;
}

/** Removes `GIT_*` variables: when a git hook calls us, they point to another repository. */
function cleanEnv(): NodeJS.ProcessEnv {
  const otherVariables = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'));
  return { ...Object.fromEntries(otherVariables), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
}

export const nullSeparated = (out: Buffer): string[] =>
  out
    .toString('utf8')
    .split('\0')
    .filter((name) => name !== '');
