import { link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DOCUMENTED_PROVIDERS } from '../models/testing/documented-exchanges.js';
import { openModelEndpoint } from '../models/testing/model-endpoint.js';
import type { AskModel } from './constructor.js';
import { modelConstructor } from './model.js';
import { openConstructor } from './open-constructor.js';

let root = '';
let folder = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gen-model-test-'));
  folder = join(root, 'draft');
  await mkdir(folder);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const cost = { input_tokens: 5, output_tokens: 7, usd: 0.1, seconds: 1 };
const modelAnswering =
  (text: string): AskModel =>
  async () => ({ text, cost });
const construct = (answer: unknown) =>
  modelConstructor(modelAnswering(typeof answer === 'string' ? answer : JSON.stringify(answer)))({
    prompt: 'Write it.',
    folder,
    iteration: 1,
    signal: new AbortController().signal,
  });
const fileWith = (path: string, content = 'x') => ({ path, content });
const read = (path: string) => readFile(join(folder, path), 'utf8');

it('writes the files of the answer, and leaves the others as they are', async () => {
  await writeFile(join(folder, 'old.txt'), 'old');
  await writeFile(join(folder, 'run.sh'), 'echo old', { mode: 0o755 });
  const constructed = await construct({
    files: [fileWith('src/deep/new.ts', 'neu ä\n'), fileWith('run.sh', 'echo new')],
    says: 'Done.',
  });
  expect(constructed).toMatchObject({ says: 'Done.', cost });
  expect(await read('src/deep/new.ts')).toBe('neu ä\n');
  expect(await read('run.sh')).toBe('echo new');
  expect((await stat(join(folder, 'run.sh'))).mode & 0o777).toBe(0o755);
  expect(await read('old.txt')).toBe('old');
  expect((await readdir(folder, { recursive: true })).sort()).toEqual([
    'old.txt',
    'run.sh',
    'src',
    'src/deep',
    'src/deep/new.ts',
  ]);
});

it('constructs each iteration in its own session', async () => {
  const answer = { files: [], says: '' };
  const [first, second] = [await construct(answer), await construct(answer)];
  expect(first.constructed_by).not.toBe(second.constructed_by);
});

it.each([
  ['text', 'Here are your files.'],
  ['text around the JSON', `Sure!\n${JSON.stringify({ files: [], says: '' })}`],
  ['a code fence', `\`\`\`json\n${JSON.stringify({ files: [], says: '' })}\n\`\`\``],
  ['two objects', '{"files":[],"says":""}{"files":[],"says":""}'],
  ['a name twice', '{"files":[],"files":[{"path":"a","content":"b"}],"says":""}'],
  ['an unknown field', { files: [], says: '', command: 'rm -rf /' }],
  ['a deletion', { files: [{ path: 'a', delete: true }], says: '' }],
  ['no summary', { files: [] }],
  ['a path out of the folder', { files: [fileWith('ok.txt'), fileWith('../escape.txt')], says: '' }],
  ['an absolute path', { files: [fileWith('/tmp/escape.txt')], says: '' }],
  ['a path into the configuration', { files: [fileWith('.ai-workspace/engine.yml')], says: '' }],
  ['a path into git', { files: [fileWith('.git/hooks/pre-commit')], says: '' }],
  ['one file twice', { files: [fileWith('a.txt'), fileWith('A.txt')], says: '' }],
  ['a file that is also a folder', { files: [fileWith('a'), fileWith('a/b')], says: '' }],
  ['broken Unicode', '{"files":[{"path":"a","content":"\\ud800"}],"says":""}'],
])('refuses %s, writes nothing, and reports the cost', async (_, answer) => {
  await expect(construct(answer)).rejects.toMatchObject({ name: 'Engine.Malformed', cost });
  expect(await readdir(folder)).toEqual([]);
});

describe('with links in the draft folder', () => {
  it('does not write through a linked folder, and writes none of the other files', async () => {
    await mkdir(join(root, 'outside'));
    await symlink(join(root, 'outside'), join(folder, 'linked'));
    await expect(
      construct({ files: [fileWith('a.txt'), fileWith('linked/b.txt')], says: '' }),
    ).rejects.toMatchObject({
      name: 'Engine.Malformed',
    });
    expect(await readdir(join(root, 'outside'))).toEqual([]);
    expect(await readdir(folder)).toEqual(['linked']);
  });

  it('does not write through a linked file', async () => {
    await writeFile(join(root, 'secret'), 'unchanged');
    await symlink(join(root, 'secret'), join(folder, 'a.txt'));
    await expect(construct({ files: [fileWith('a.txt')], says: '' })).rejects.toThrow('a.txt is a link');
    expect(await readFile(join(root, 'secret'), 'utf8')).toBe('unchanged');
  });

  it('replaces a file that has a hard link outside, and leaves the file outside unchanged', async () => {
    await writeFile(join(root, 'shared'), 'unchanged');
    await link(join(root, 'shared'), join(folder, 'a.txt'));
    await construct({ files: [fileWith('a.txt', 'new')], says: '' });
    expect(await read('a.txt')).toBe('new');
    expect(await readFile(join(root, 'shared'), 'utf8')).toBe('unchanged');
  });
});

// req: ITR-004
it.each(DOCUMENTED_PROVIDERS)('constructs with the real client of $provider', async (provider) => {
  const answer = JSON.stringify({ files: [fileWith('made.txt', provider.provider)], says: 'Made it.' });
  const endpoint = await openModelEndpoint(provider, [provider.success(answer)]);
  try {
    const run = await openConstructor(
      { type: 'model', ...endpoint.settings },
      { folder: root, env: provider.env },
    );
    const { signal } = new AbortController();
    const constructed = await run({ prompt: 'Make it.', folder, iteration: 1, signal });
    expect(constructed).toMatchObject({ says: 'Made it.', cost: { input_tokens: 1200, output_tokens: 300 } });
    expect(await read('made.txt')).toBe(provider.provider);
    expect(endpoint.received[0]?.body).toContain('Make it.');
  } finally {
    await endpoint.close();
  }
});

it('stops at its own time limit', async () => {
  const [provider] = DOCUMENTED_PROVIDERS;
  const endpoint = await openModelEndpoint(provider, ['silence']);
  try {
    const settings = { type: 'model', ...endpoint.settings, timeout_seconds: 1 } as const;
    const run = await openConstructor(settings, { folder: root, env: provider.env });
    const { signal } = new AbortController();
    await expect(run({ prompt: 'Make it.', folder, iteration: 1, signal })).rejects.toMatchObject({
      name: 'Engine.Timeout',
    });
  } finally {
    await endpoint.close();
  }
});
