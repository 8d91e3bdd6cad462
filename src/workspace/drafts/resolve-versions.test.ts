import { expect, test } from 'vitest';
import { resolveVersions } from './resolve-versions.js';

const v = (base_sha256: string | null, sha256: string) => ({ base_sha256, sha256 });
const FIRST = v(null, 'a');
const SECOND = v('a', 'b');
const THIRD = v('b', 'c');
const ALL = [FIRST, SECOND, THIRD];

test.each([
  ['nothing is there yet', null, ALL, THIRD, []],
  ['some were promoted', 'a', ALL, THIRD, []],
  ['all were promoted', 'c', ALL, THIRD, []],
  ['a person changed it', 'x', ALL, null, [THIRD]],
  ['a person removed what was there', null, [SECOND], null, [SECOND]],
  ['two were begun from the same', null, [FIRST, v(null, 'z')], FIRST, [v(null, 'z')]],
  ['two were begun from the same, one promoted', 'a', [FIRST, v(null, 'z')], FIRST, [v(null, 'z')]],
  ['it went back and forth', 'a', [SECOND, v('b', 'a')], v('b', 'a'), []],
  ['a person changed it, and work went on from that', 'c', [FIRST, v('x', 'c')], v('x', 'c'), []],
  ['two made the same', null, [FIRST, v(null, 'a')], v(null, 'a'), []],
])('%s', (_, current, versions, last, conflicts) => {
  expect(resolveVersions(current, versions)).toEqual({ last, conflicts });
});
