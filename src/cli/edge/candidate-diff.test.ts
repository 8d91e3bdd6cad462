import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { PendingReview } from '../../core/contract/reviews.js';
import type { Workspace } from '../../workspace/workspace.js';
import { candidateDiffs } from './candidate-diff.js';

/** The diffs of a candidate, given by the content of its files, in a project with other files. */
async function diffsOf(before: Record<string, string | Buffer>, after: Record<string, string | Buffer>) {
  const root = await mkdtemp(join(tmpdir(), 'candidate-diff-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(before)) await writeFile(join(root, path), content);
  await symlink('/etc/hostname', join(root, 'link'));
  const files = Object.entries(after).map(([path, content]) => ({
    path,
    sha256: path,
    size_bytes: Buffer.byteLength(content),
  }));
  const readBlob = async (sha256: string) =>
    sha256 === 'lost' ? null : Buffer.from(after[sha256] as string | Buffer);
  return candidateDiffs({ root } as Workspace, { files } as unknown as PendingReview, readBlob);
}

it('shows added and changed text, and names equal files', async () => {
  expect(await diffsOf({ a: 'one\ntwo\n', same: 'x' }, { a: 'one\n2\n', same: 'x', b: 'new\n' })).toEqual([
    { path: 'a', change: 'changed', diff: '@@ -1,2 +1,2 @@\n one\n-two\n+2', note: null },
    { path: 'same', change: 'same', diff: null, note: null },
    { path: 'b', change: 'added', diff: '@@ -0,0 +1 @@\n+new', note: null },
  ]);
});

it('names binary and large files, links and missing content without a diff', async () => {
  const large = 'x'.repeat(256 * 1024 + 1);
  const diffs = await diffsOf(
    { grows: large, binary: 'text' },
    { large, grows: 'small', binary: Buffer.from([0, 1]), link: 'x', lost: 'x' },
  );
  expect(diffs.map(({ path, diff, note }) => [path, diff, note])).toEqual([
    ['large', null, 'larger than 262144 bytes'],
    ['grows', null, 'larger than 262144 bytes'],
    ['binary', null, 'binary'],
    ['link', null, 'not a regular file in the project'],
    ['lost', null, 'its content is not available here'],
  ]);
});

it('says that a long line is cut', async () => {
  const [diff] = await diffsOf({}, { a: `${'x'.repeat(2010)}\n` });
  expect(diff?.diff).toMatch(/x … \(11 more characters are not shown\)$/);
});

it('shows at most 2000 lines of all files together', async () => {
  const linesText = (count: number) => 'line\n'.repeat(count);
  const diffs = await diffsOf({}, { a: linesText(1500), b: linesText(1500), c: linesText(2) });
  expect(diffs.map(({ diff }) => diff?.split('\n').length ?? 0)).toEqual([1501, 499, 0]);
  expect(diffs.map(({ note }) => note)).toEqual([
    null,
    '1002 more lines are not shown',
    '3 more lines are not shown',
  ]);
});
