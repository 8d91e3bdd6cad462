import { expect, test } from 'vitest';
import { resolveVersions } from './resolve-versions.js';

const v = (base_sha256: string | null, sha256: string) => ({ base_sha256, sha256 });
const FIRST = v(null, 'a');
const SECOND = v('a', 'b');
const THIRD = v('b', 'c');
const ALL = [FIRST, SECOND, THIRD];

test.each([
  ['the project has no file yet', null, ALL, THIRD, []],
  ['some versions were promoted', 'a', ALL, THIRD, []],
  ['all versions were promoted', 'c', ALL, THIRD, []],
  ['a person changed the file', 'x', ALL, null, [THIRD]],
  ['a person removed the file', null, [SECOND], null, [SECOND]],
  ['two versions have the same base', null, [FIRST, v(null, 'z')], FIRST, [v(null, 'z')]],
  ['two versions have the same base and one was promoted', 'a', [FIRST, v(null, 'z')], FIRST, [v(null, 'z')]],
  ['the content changed back to an earlier one', 'a', [SECOND, v('b', 'a')], v('b', 'a'), []],
  ['a later version is based on the change of a person', 'c', [FIRST, v('x', 'c')], v('x', 'c'), []],
  ['two versions have the same content', null, [FIRST, v(null, 'a')], v(null, 'a'), []],
])('resolves the last version and the conflicts when %s', (_, current, versions, last, conflicts) => {
  expect(resolveVersions(current, versions)).toEqual({ last, conflicts });
});
