import { execFile } from 'node:child_process';
import { KEY_IN_TEXT, withoutVersion } from './req-key.js';

export interface TaggedCommit {
  readonly sha: string;
  readonly at: string;
  readonly subject: string;
  readonly keys: readonly string[];
}

/** The checked-out commit; null without git or without a commit. */
export async function headCommit(root: string): Promise<string | null> {
  const output = await git(root, ['rev-parse', '--verify', '--quiet', 'HEAD']);
  const sha = output?.trim() ?? '';
  return /^[0-9a-f]{40,64}$/.test(sha) ? sha : null;
}

/** Why there is no commit, as text. */
export async function noCommitReason(root: string): Promise<string> {
  const isRepository = (await git(root, ['rev-parse', '--git-dir'])) !== null;
  return isRepository ? 'none: nothing has been committed yet' : 'none: this is no git repository';
}

export async function latestTag(root: string): Promise<string | null> {
  const output = await git(root, ['describe', '--tags', '--abbrev=0', 'HEAD']);
  return output?.trim() || null;
}

const COMMITS_MAX = 2000;
const FIELD = '\u001f';
const RECORD = '\u001e';

/** Commits that name a requirement, newest first: all of them, or those after a tag. */
export async function commitsWithKeys(root: string, since: string | null): Promise<TaggedCommit[]> {
  const range = since === null ? 'HEAD' : `refs/tags/${since}..HEAD`;
  const format = `--format=%H${FIELD}%cI${FIELD}%s${FIELD}%b${RECORD}`;
  const output = await git(root, [
    'log',
    `--max-count=${COMMITS_MAX}`,
    '--no-show-signature',
    format,
    range,
    '--',
  ]);
  return (output ?? '').split(RECORD).flatMap((record) => {
    const [sha = '', at = '', subject = '', body = ''] = record.trim().split(FIELD);
    const keys = keysIn(`${subject}\n${body}`);
    return keys.length === 0 ? [] : [{ sha, at, subject, keys }];
  });
}

export const keysIn = (text: string): string[] => [
  ...new Set([...text.matchAll(new RegExp(KEY_IN_TEXT, 'g'))].map(([key]) => withoutVersion(key))),
];

/** Whether the tag was created. An existing tag is never moved. */
export async function tagRelease(root: string, name: string, message: string): Promise<boolean> {
  return (await git(root, ['tag', '--annotate', '--no-sign', '-m', message, '--', name])) !== null;
}

/**
 * Turns off what the repository's configuration could run: hooks, pager, fsmonitor. `git` uses no shell and never
 * prompts; it returns null if git is missing or fails.
 */
const SAFE_GIT_OPTIONS = [
  '-c',
  'core.hooksPath=/dev/null',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.pager=cat',
];
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const GIT_TIMEOUT_MS = 20_000;

function git(root: string, args: readonly string[]): Promise<string | null> {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' };
  const options = {
    cwd: root,
    env,
    timeout: GIT_TIMEOUT_MS,
    maxBuffer: OUTPUT_BYTES_MAX,
    encoding: 'utf8',
  } as const;
  return new Promise((resolve) => {
    execFile('git', [...SAFE_GIT_OPTIONS, ...args], options, (error, stdout) =>
      resolve(error === null ? stdout : null),
    );
  });
}
