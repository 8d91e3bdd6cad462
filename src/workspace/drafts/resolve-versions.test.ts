import { expect, test } from 'vitest';
import { resolveVersions } from './resolve-versions.js';

const versionOf = (base_sha256: string | null, sha256: string) => ({ base_sha256, sha256 });
const FIRST = versionOf(null, 'a');
const SECOND = versionOf('a', 'b');
const THIRD = versionOf('b', 'c');
const ALL = [FIRST, SECOND, THIRD];

test.each([
  ['the project has no file yet', null, ALL, THIRD, []],
  ['some versions were promoted', 'a', ALL, THIRD, []],
  ['all versions were promoted', 'c', ALL, THIRD, []],
  ['a person changed the file', 'x', ALL, null, [THIRD]],
  ['a person removed the file', null, [SECOND], null, [SECOND]],
  ['two versions have the same base', null, [FIRST, versionOf(null, 'z')], FIRST, [versionOf(null, 'z')]],
  [
    'two versions have the same base and one was promoted',
    'a',
    [FIRST, versionOf(null, 'z')],
    FIRST,
    [versionOf(null, 'z')],
  ],
  ['the content changed back to an earlier one', 'a', [SECOND, versionOf('b', 'a')], versionOf('b', 'a'), []],
  [
    'a later version is based on the change of a person',
    'c',
    [FIRST, versionOf('x', 'c')],
    versionOf('x', 'c'),
    [],
  ],
  ['two versions have the same content', null, [FIRST, versionOf(null, 'a')], versionOf(null, 'a'), []],
])('resolves the last version and the conflicts when %s', (_, current, versions, last, conflicts) => {
  expect(resolveVersions(current, versions)).toEqual({ last, conflicts });
});
