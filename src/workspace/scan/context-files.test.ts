import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Workspace } from '../workspace.js';
import { CONTEXT_LIMITS, findContextFiles } from './context-files.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'context-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
});

function write(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `content of ${path}`);
  }
}
function createLink(path: string, target: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
}
const find = (sources: Partial<Parameters<typeof findContextFiles>[1]> = {}, limits = {}) =>
  findContextFiles(
    new Workspace(root),
    { required: [], recommended: [], ...sources },
    { ...CONTEXT_LIMITS, ...limits },
  );
const pathsOf = (context: ReturnType<typeof find>) => context.files.map(({ path }) => path);
const needsOf = (context: ReturnType<typeof find>) =>
  Object.fromEntries(context.files.map(({ path, need }) => [path, need]));

describe('the context files of an edge', () => {
  it('are the files of the context and specification folders, with their content', () => {
    write(
      '.ai-workspace/context/project_constraints.yml',
      'specification/INTENT.md',
      'spec/a/b.md',
      'src/code.ts',
    );
    const context = find();
    expect(pathsOf(context)).toEqual([
      '.ai-workspace/context/project_constraints.yml',
      'spec/a/b.md',
      'specification/INTENT.md',
    ]);
    expect(Buffer.from(context.files[1]?.bytes ?? []).toString()).toBe('content of spec/a/b.md');
    expect(context.refused).toEqual(new Map());
  });

  it('are found by the names of files and folders that the edge requires or recommends', () => {
    write(
      '.ai-workspace/context/adrs/001.md',
      'docs/data_models.yml',
      'docs/style.md',
      'lib/api.md',
      'spec/other.md',
    );
    const context = find({ required: ['adrs', 'data_models', 'lib/api.md'], recommended: ['style', 'none'] });
    expect(needsOf(context)).toEqual({
      '.ai-workspace/context/adrs/001.md': 'required',
      'docs/data_models.yml': 'required',
      'lib/api.md': 'required',
      'docs/style.md': 'recommended',
      'spec/other.md': 'other',
    });
    expect(context.missing_required).toEqual([]);
  });

  it('are listed as missing by name, also if a folder of that name has no file', () => {
    mkdirSync(join(root, '.ai-workspace/context/templates'), { recursive: true });
    const long = 'The architecture decisions that concern this feature. '.repeat(10);
    expect(find({ required: ['adrs', 'templates', long, 'a\0b'] }).missing_required).toEqual([
      'adrs',
      'templates',
      long,
      'a\0b',
    ]);
  });

  it('include given paths, such as converged assets', () => {
    write(
      'src/shop/cart.ts',
      'src/shop/node_modules/x/index.js',
      '.ai-workspace/graph/edges/design_code.yml',
    );
    const paths = ['src/shop', '.ai-workspace/graph/edges/design_code.yml', 'src/none'];
    expect(pathsOf(find({ paths }))).toEqual([
      '.ai-workspace/graph/edges/design_code.yml',
      'src/shop/cart.ts',
    ]);
  });

  it('are read through links within the project, once, by the path where they are', () => {
    write('docs/real/a.md');
    createLink('spec/linked', join(root, 'docs/real'));
    createLink('spec/loop', join(root, 'spec'));
    const context = find({ recommended: ['real'] });
    expect(needsOf(context)).toEqual({ 'docs/real/a.md': 'recommended' });
    expect([...context.refused.keys()]).toEqual(['spec/loop']);
  });

  it('are refused by name if they leave the project, are hidden or broken, or are in the folder of the log', () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    onTestFinished(() => rmSync(outside, { recursive: true, force: true }));
    writeFileSync(join(outside, 'secret.md'), 'secret');
    write('.env', '.git/config', '.ai-workspace/events/store.json', 'spec/one.md');
    linkSync(join(outside, 'secret.md'), join(root, 'spec/hard.md'));
    createLink('spec/outside.md', join(outside, 'secret.md'));
    createLink('spec/folder', outside);
    createLink('spec/env.md', join(root, '.env'));
    createLink('spec/log', join(root, '.ai-workspace/events'));
    createLink('spec/nowhere.md', join(root, 'none'));
    const context = find({ required: ['../../etc', '.git', '.env'], paths: ['.ai-workspace'] });
    expect(pathsOf(context)).toEqual(['spec/one.md']);
    expect(context.missing_required).toEqual(['../../etc', '.git', '.env']);
    const reasons = Object.fromEntries(context.refused);
    expect(reasons).toMatchObject({
      'spec/outside.md': expect.stringContaining('leaves the project'),
      'spec/folder': expect.stringContaining('leaves the project'),
      'spec/env.md': expect.stringContaining('hidden'),
      'spec/log': expect.stringContaining('folder of the log'),
      'spec/nowhere.md': expect.stringContaining('leads nowhere'),
      'spec/hard.md': expect.stringContaining('hard link'),
      '.git': expect.stringContaining('hidden'),
      '.ai-workspace/events': expect.stringContaining('folder of the log'),
    });
  });

  it('are limited: a large file is refused by name, and too many files or bytes are an error', () => {
    write('spec/a.md', 'spec/b.md', 'spec/deep/er/c.md');
    expect([...find({}, { file_bytes_max: 20 }).refused.keys()]).toEqual(['spec/deep/er/c.md']);
    expect([...find({}, { depth_max: 2 }).refused.keys()]).toEqual(['spec/deep/er']);
    expect(() => find({}, { files_max: 2 })).toThrow(/at most 2 files.*context_guidance/);
    expect(() => find({}, { total_bytes_max: 40 })).toThrow(/40 bytes, and spec\/deep\/er\/c.md exceeds/);
  });
});
