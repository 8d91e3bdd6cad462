import { runGit } from '../git.js';
import { KEY_IN_TEXT, withoutVersion } from './req-key.js';

export interface CommitWithRequirements {
  readonly sha: string;
  readonly at: string;
  readonly subject: string;
  readonly keys: readonly string[];
}

/** The checked-out commit; null without git or without a commit. */
export async function headCommit(root: string): Promise<string | null> {
  const output = await gitOutput(root, ['rev-parse', '--verify', '--quiet', 'HEAD']);
  const sha = output?.trim() ?? '';
  return /^[0-9a-f]{40,64}$/.test(sha) ? sha : null;
}

/** Why there is no commit, as text. */
export async function noCommitText(root: string): Promise<string> {
  const isRepository = (await gitOutput(root, ['rev-parse', '--git-dir'])) !== null;
  return isRepository ? 'none: nothing has been committed yet' : 'none: this is not a git repository';
}

export async function latestTag(root: string): Promise<string | null> {
  const output = await gitOutput(root, ['describe', '--tags', '--abbrev=0', 'HEAD']);
  return output?.trim() || null;
}

const COMMITS_MAX = 2000;
const FIELD_SEPARATOR = '\u001f';
const RECORD_SEPARATOR = '\u001e';

/** The commits that name a requirement, newest first, among the last `COMMITS_MAX` commits or those of them after a tag. */
export async function commitsWithKeys(root: string, since: string | null): Promise<CommitWithRequirements[]> {
  const range = since === null ? 'HEAD' : `refs/tags/${since}..HEAD`;
  const format = `--format=%H${FIELD_SEPARATOR}%cI${FIELD_SEPARATOR}%s${FIELD_SEPARATOR}%b${RECORD_SEPARATOR}`;
  const bounds = [`--max-count=${COMMITS_MAX}`, '--no-show-signature'];
  const output = await gitOutput(root, ['log', ...bounds, format, range, '--']);
  return (output ?? '').split(RECORD_SEPARATOR).flatMap((record) => {
    const [sha = '', at = '', subject = '', body = ''] = record.trim().split(FIELD_SEPARATOR);
    const matches = `${subject}\n${body}`.matchAll(new RegExp(KEY_IN_TEXT, 'g'));
    const keys = [...new Set([...matches].map(([key]) => withoutVersion(key)))];
    return keys.length === 0 ? [] : [{ sha, at, subject, keys }];
  });
}

/** Creates a tag on the checked-out commit. False if git refuses: an existing tag is never moved. */
export async function tagRelease(root: string, name: string, message: string): Promise<boolean> {
  return (await gitOutput(root, ['tag', '--annotate', '--no-sign', '-m', message, '--', name])) !== null;
}

/** Git's output; null if git is missing or fails. */
async function gitOutput(root: string, args: readonly string[]): Promise<string | null> {
  const result = await runGit(root, args);
  return result.ok ? result.out.toString('utf8') : null;
}
