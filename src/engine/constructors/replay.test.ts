import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openConstructor } from './open-constructor.js';

let root = '';
let folder = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gen-replay-test-'));
  folder = join(root, 'draft');
  await mkdir(folder);
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function open(...lines: unknown[]) {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  await writeFile(join(root, 'transcript.jsonl'), `${text}\n`);
  const run = await openConstructor({ type: 'replay', transcript: 'transcript.jsonl' }, { folder: root });
  const { signal } = new AbortController();
  return (iteration: number) => run({ prompt: '', folder, iteration, signal });
}

it('writes the files of each iteration, and raises the errors that are recorded', async () => {
  const cost = { input_tokens: 1, output_tokens: 2, usd: 3, seconds: 4 };
  const construct = await open(
    { files: [{ path: 'a.txt', content: 'one' }], says: 'first', session: 's-1', cost },
    { error: 'Engine.Throttled' },
    { files: [{ path: 'a.txt', content: 'three' }], says: 'third' },
  );
  expect(await construct(1)).toEqual({ says: 'first', constructed_by: 's-1', cost });
  expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('one');
  await expect(construct(2)).rejects.toMatchObject({ name: 'Engine.Throttled' });
  expect(await construct(3)).toMatchObject({ says: 'third', cost: { usd: 0 } });
  expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('three');
  await expect(construct(4)).rejects.toThrow('no line for iteration 4');
});

it.each([
  ['text', 'hello'],
  ['an unknown error', { error: 'Engine.Whatever' }],
  ['an unknown field', { files: [], says: '', run: 'ls' }],
  ['a path out of the folder', { files: [{ path: '../a', content: '' }], says: '' }],
])('refuses a transcript with %s', async (_, line) => {
  await expect(open({ files: [], says: '' }, line)).rejects.toMatchObject({
    name: 'Engine.Failed',
    message: expect.stringContaining('Line 2'),
  });
  expect(await readdir(folder)).toEqual([]);
});

it('fails if the transcript does not exist, and names its file', async () => {
  const opening = openConstructor({ type: 'replay', transcript: 'none.jsonl' }, { folder: root });
  await expect(opening).rejects.toMatchObject({
    name: 'Engine.Failed',
    message: expect.stringContaining('none.jsonl'),
  });
});
