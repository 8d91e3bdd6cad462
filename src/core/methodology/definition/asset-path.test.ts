import { describe, expect, test } from 'vitest';
import { PATH_BYTES_MAX, pathFault } from './asset-path.js';
import { isFilesResult, MANIFEST_FILES_MAX, parseManifest, pathCollision } from './manifest.js';

describe('the path of a result file', () => {
  test.each([
    'a',
    'src/core/a.ts',
    '.github/workflows/ci.yml',
    'docs/übung/日本.md',
    '...a/b',
    'a b/c',
    'gitignore',
    '.gitignore',
    'features/.git-keep',
    'app/[slug]/(page).tsx',
    'console.ts',
    'notes~1~',
    'a-longer-name~1',
    'v1.2~3',
    'auxiliary/com10.ts',
    `${'x'.repeat(255)}/${'é'.repeat(127)}x/`.slice(0, -1),
  ])('may be %s', (path) => {
    expect(pathFault(path)).toBeNull();
  });

  test.each([
    '',
    '/etc/passwd',
    '..',
    '../a',
    'a/../../b',
    'a/./b',
    '.',
    '...',
    'a//b',
    'a/',
    'a\\b',
    'C:/a',
    'a:stream',
    'a\nb',
    'a\u0000b',
    'a\u007f',
    'a./b',
    'a?',
    '<a>/b',
    'a"b',
    'CON',
    'src/aux.c',
    'nul .txt',
    'COM1',
    'a /b',
    'a.',
    '.git/config',
    'sub/.GIT/hooks/post-checkout',
    '.g\u200cit/config',
    'git~1/config',
    'AI-WOR~1/events/events.jsonl',
    'docs/REPORT~1.TXT',
    '.genesis/log',
    '.ai-workspace/events/events.jsonl',
    '.AI-Workspace/features/active/x.yml',
    'u\u0308bung',
    '\ud800',
    'é'.repeat(PATH_BYTES_MAX / 2 + 1),
    `a/${'x'.repeat(256)}`,
    'é'.repeat(128),
    Array.from({ length: 65 }, () => 'a').join('/'),
  ])('cannot be %j', (path) => {
    expect(pathFault(path)).toEqual(expect.any(String));
  });
});

describe('a manifest', () => {
  const fileEntry = (path: string, fields = {}) => ({
    path,
    sha256: 'a'.repeat(64),
    size_bytes: 3,
    executable: false,
    base_sha256: null,
    ...fields,
  });
  const filesResult = (...files: object[]) => ({ kind: 'files', files, total_bytes: files.length * 3 });

  test('is parsed completely or refused', () => {
    expect(parseManifest(filesResult(fileEntry('a'), fileEntry('b/c')))).toMatchObject({ ok: true });
    expect(parseManifest(filesResult(fileEntry('a'), fileEntry('../c')))).toMatchObject({
      ok: false,
      path: 'files.1.path',
    });
    expect(parseManifest(filesResult(fileEntry('a', { sha256: 'A'.repeat(64) })))).toMatchObject({
      ok: false,
    });
    expect(parseManifest(filesResult(fileEntry('a', { extra: 1 })))).toMatchObject({ ok: false });
    expect(parseManifest({ ...filesResult(fileEntry('a')), total_bytes: 4 })).toMatchObject({
      path: 'total_bytes',
    });
    expect(parseManifest(filesResult())).toMatchObject({ ok: false, path: 'files' });
    const tooManyFiles = Array.from({ length: MANIFEST_FILES_MAX + 1 }, (_, index) => fileEntry(`f${index}`));
    expect(parseManifest(filesResult(...tooManyFiles))).toMatchObject({ ok: false, path: 'files' });
    expect(parseManifest(filesResult(...tooManyFiles.slice(1)))).toMatchObject({ ok: true });
  });

  test('must not name a file twice, or a file that is the folder of another', () => {
    expect(pathCollision(['a', 'b', 'a/b'])).toContain('folder of a/b');
    expect(pathCollision(['Read.me', 'read.me'])).toContain('the same file');
    expect(pathCollision(['a/b', 'a/c', 'ab'])).toBeNull();
  });

  test('is distinguished from other results', () => {
    expect(isFilesResult({ kind: 'files' })).toBe(true);
    for (const other of [null, 'files', {}, { kind: 'x' }, []]) expect(isFilesResult(other)).toBe(false);
  });
});
