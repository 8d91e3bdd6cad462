import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { coverageOf } from './coverage.js';
import { fileKind } from './file-kind.js';
import { isReqKey } from './req-key.js';
import { scanTags, tagsIn } from './tags.js';
import { WALK_BOUNDS } from './walk.js';

async function newProject(files: Record<string, string | Uint8Array>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'gen-scan-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

const tagLines = (text: string, path = 'src/a.ts') =>
  tagsIn({ path, text }, fileKind(path)).map(({ kind, key, line }) => `${line} ${kind} ${key}`);

it('reads requirement keys in the forms that real projects use', () => {
  for (const key of ['REQ-GTL-001', 'REQ-F-SCHEMA-DISC-001', 'REQ-COORD-001', 'REQ-F-TOOL-015.1.2.3']) {
    expect(isReqKey(key), key).toBe(true);
    expect(tagLines(`// Implements: ${key}`)).toEqual([`1 implements ${key.replace('.1.2.3', '')}`]);
  }
  for (const text of ['REQ-001', 'REQ-F-AUTH', 'req-f-auth-001', 'REQ-F-AUTH-001-x', 'REQ-F-AUTH-001x']) {
    expect(isReqKey(text), text).toBe(false);
    expect(tagLines(`// Implements: ${text}`), text).toEqual([]);
  }
});

it('reads tags in any comment style, several per line, and telemetry tags', () => {
  expect(tagLines('# Implements: REQ-A-1, REQ-B-2 and REQ-C-3.\n<!-- **Validates**: REQ-A-1 -->')).toEqual([
    '1 implements REQ-A-1',
    '1 implements REQ-B-2',
    '1 implements REQ-C-3',
    '2 validates REQ-A-1',
  ]);
  expect(tagLines(`log.info('x', req="REQ-A-1")\n{"req": "REQ-B-2"}\nspan({ req: 'REQ-C-3' })`)).toEqual([
    '1 telemetry REQ-A-1',
    '2 telemetry REQ-B-2',
    '3 telemetry REQ-C-3',
  ]);
  expect(tagLines('const key = "REQ-A-1"; // see REQ-B-2')).toEqual([]);
});

it('counts every key in a specification or a design, and none in a readme', () => {
  expect(tagLines('| REQ-A-1 | login |\r\n', 'specification/req.md')).toEqual(['1 specified REQ-A-1']);
  expect(tagLines('For REQ-A-1.', 'docs/design/adrs/001.md')).toEqual(['1 designed REQ-A-1']);
  expect(tagLines('Write `Implements: REQ-A-1`.', 'README.md')).toEqual([]);
  expect(fileKind('spec/login_spec.rb')).toBe('test');
  expect(fileKind('src/features/login.ts')).toBe('code');
});

it('does not leave the project or read third-party and binary files', async () => {
  const tag = '// Implements: REQ-A-1\n';
  const outside = await newProject({ 'secret.ts': tag });
  const root = await newProject({
    'src/a.ts': tag,
    'node_modules/x/index.js': tag,
    '.git/x.ts': tag,
    '.ai-workspace/features/active/x.ts': tag,
    'dist/a.js': tag,
    'src/image.ts': Buffer.concat([Buffer.from([0]), Buffer.from(tag)]),
    'src/large.ts': tag.repeat(60_000),
  });
  await symlink(join(outside, 'secret.ts'), join(root, 'src/link.ts'));
  await symlink(outside, join(root, 'src/folder'));
  const { tags, left_out } = await scanTags(root);
  expect(tags.map(({ file }) => file)).toEqual(['src/a.ts']);
  expect(left_out).toEqual(['src/large.ts: 1380000 bytes, more than 1048576']);
});

it('stops at a limit and reports it', async () => {
  const tag = '// Implements: REQ-A-1\n';
  const root = await newProject({ 'a.ts': tag, 'b.ts': tag, 'c/d/e.ts': tag });
  const few = await scanTags(root, { ...WALK_BOUNDS, files_max: 1 });
  expect(few.tags).toHaveLength(1);
  expect(few.left_out).toEqual(['everything from b.ts on: the limit of 1 files is reached']);
  const small = await scanTags(root, { ...WALK_BOUNDS, bytes_max: 30 });
  expect(small.tags).toHaveLength(1);
  const shallow = await scanTags(root, { ...WALK_BOUNDS, depth_max: 1 });
  expect(shallow.tags).toHaveLength(2);
  expect(shallow.left_out).toEqual(['c/d: nested too deeply']);
});

it('compares requirements with tags, layer by layer', async () => {
  const root = await newProject({
    'specification/req.md': 'REQ-F-AUTH-001 log in\nREQ-F-AUTH-002 log out\nREQ-COORD-001.1.0.0 one holder',
    'src/auth.ts': '// Implements: REQ-F-AUTH-001, REQ-F-GONE-009\nlog({ req: "REQ-F-AUTH-001" })',
    'src/plain.ts': 'export {}',
    'tests/auth.test.ts': '// Validates: REQ-F-AUTH-001\n// Validates: REQ-COORD-001',
  });
  const scan = await scanTags(root);
  const all = coverageOf({ scan, delivered_keys: ['REQ-F-PAY-001', 'unknown'], layers: [1, 2, 3] });
  expect(all.keys.map(({ key, missing }) => [key, missing])).toEqual([
    ['REQ-COORD-001', [1, 3]],
    ['REQ-F-AUTH-001', []],
    ['REQ-F-AUTH-002', [1, 2, 3]],
    ['REQ-F-PAY-001', [1, 2, 3]],
  ]);
  expect(all.orphans).toEqual([{ key: 'REQ-F-GONE-009', places: [{ file: 'src/auth.ts', line: 1 }] }]);
  expect(all.untagged_files).toEqual(['src/plain.ts']);
  const one = coverageOf({ scan, delivered_keys: [], layers: [2], only: new Set(['REQ-COORD-001']) });
  expect(one.keys.map(({ key, missing }) => [key, missing])).toEqual([['REQ-COORD-001', []]]);
  expect(one).toMatchObject({ orphans: [], untagged_files: [] });
});
