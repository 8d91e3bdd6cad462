import { expect, test } from 'vitest';
import { compareFiles, contentOf, filesOf, sizeText } from './result-content.js';

const fileEntry = (path: string, sha256: string) => ({ path, sha256, size_bytes: 1 });

test.each([
  [
    { result_data: 'done', blob_sha256: null },
    { kind: 'text', text: 'done' },
  ],
  [
    { result_data: { a: 1 }, blob_sha256: null },
    { kind: 'json', text: '{\n  "a": 1\n}' },
  ],
  [
    { result_data: 0, blob_sha256: null },
    { kind: 'json', text: '0' },
  ],
  [{ result_data: '--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y', blob_sha256: null }, { kind: 'diff' }],
  [{ result_data: 'diff --git a/x b/x\n', blob_sha256: null }, { kind: 'diff' }],
  [
    { result_data: null, blob_sha256: 'f'.repeat(64) },
    { kind: 'blob', sha256: 'f'.repeat(64) },
  ],
  [{ result_data: null, blob_sha256: null }, { kind: 'none' }],
  [{ result_data: { kind: 'files', files: [fileEntry('a', '1')] }, blob_sha256: null }, { kind: 'files' }],
])('%# the data of a result determines how it is shown', (result, expected) => {
  expect(contentOf(result)).toMatchObject(expected);
});

test('only an object with a path and a digest is a file', () => {
  expect(filesOf({ kind: 'files', files: [fileEntry('a', '1'), null, { path: 1 }] })).toEqual([
    fileEntry('a', '1'),
  ]);
  expect(filesOf({ kind: 'files', files: 'no' })).toBeNull();
  expect(filesOf('files')).toBeNull();
});

test('files are compared by path and digest', () => {
  const changes = compareFiles(
    [fileEntry('gone', '1'), fileEntry('kept', '2'), fileEntry('new', '3')],
    [fileEntry('new', '4'), fileEntry('kept', '2'), fileEntry('added', '5')],
  );
  expect(changes.map(({ path, change }) => `${path} ${change}`)).toEqual([
    'added added',
    'gone removed',
    'kept same',
    'new changed',
  ]);
});

test('a size has one unit', () => {
  expect([0, 1023, 1024, 1536 * 1024].map(sizeText)).toEqual(['0 B', '1023 B', '1.0 KiB', '1.5 MiB']);
});
