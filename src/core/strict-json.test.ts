import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JSON_DEPTH_MAX, readStrictJson } from './strict-json.js';

const nestedLists = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('a duplicate name in one object', () => {
  it.each([
    ['at the top', '{"a":1,"a":1}', '"a"'],
    ['with spaces and line breaks between', '{ "a" : 1 ,\n\t"a"\r\n: 2 }', '"a"'],
    ['in an object within a list', '[1,{"b":[{"c":0,"c":0}]}]', '"c"'],
    ['after an object that is closed', '{"a":{"b":1},"b":2,"a":3}', '"a"'],
    ['spelled with escapes', '{"task_id":1,"\\u0074ask_id":2}', '"task_id"'],
    ['the empty name', '{"":1,"":2}', '""'],
    ['__proto__', '{"__proto__":1,"__proto__":2}', '"__proto__"'],
    ['with quotes and backslashes in it', '{"\\"\\\\":1,"\\"\\\\":2}', '"\\"\\\\"'],
    [
      'among many names',
      `{${Array.from({ length: 50 }, (_, index) => `"k${index}":0`).join()},"k7":0}`,
      '"k7"',
    ],
  ])('is refused by name: %s', (_, text, name) => {
    expect(readStrictJson(text)).toEqual({
      fault: `the name ${name} occurs twice in one JSON object; remove one of them`,
    });
  });
});

it('accepts a repeated name in another object, and repeated text that is not a name', () => {
  for (const text of [
    '[{"a":1},{"a":2}]',
    '{"a":{"a":{"a":"a"}},"b":["a","a",{"a":1}]}',
    '{"a":"a,\\"a\\":1}","b":"{\\"a\\":1,\\"a\\":2}"}',
    '{"a\\\\":1,"a":2,"A":3,"a ":4}',
    '"{\\"a\\":1,\\"a\\":1}"',
  ]) {
    expect(readStrictJson(text)).toEqual({ value: JSON.parse(text) });
  }
});

it('reads __proto__ as an ordinary member, never as the prototype', () => {
  const parsed = readStrictJson('{"__proto__":{"admin":true}}') as { value: object };
  expect(Object.keys(parsed.value)).toEqual(['__proto__']);
  expect(Object.getPrototypeOf(parsed.value)).toBe(Object.prototype);
});

it('accepts nesting up to the limit and refuses deeper nesting', () => {
  expect(readStrictJson(nestedLists(JSON_DEPTH_MAX))).toHaveProperty('value');
  for (const text of [nestedLists(JSON_DEPTH_MAX + 1), '['.repeat(1_000_000), '{"a":'.repeat(200_000)]) {
    expect(readStrictJson(text)).toEqual({ fault: `expected JSON that is nested at most 100 deep` });
  }
});

it('refuses more objects and arrays than the limit, and counts none in a string', () => {
  expect(readStrictJson('[[1],{"a":"[[[["}]', 3)).toEqual({ value: [[1], { a: '[[[[' }] });
  expect(readStrictJson('[[1],{"a":[]}]', 3)).toHaveProperty('fault', expect.stringContaining('at most 3'));
  expect(readStrictJson(`[${'[],'.repeat(50_000)}[]]`)).toHaveProperty('fault');
});

it('refuses text that is not JSON', () => {
  for (const text of [
    '',
    '{',
    '"',
    '{"a"',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '[1,]',
    'undefined',
    '"\\',
    '}{',
  ]) {
    expect(readStrictJson(text)).toHaveProperty('fault');
  }
});

it('reads any JSON text as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(0, 2, '\t'), (text, indent) => {
      const written = JSON.stringify(JSON.parse(text), null, indent);
      expect(readStrictJson(written)).toEqual({ value: JSON.parse(written) });
    }),
  );
});

it('finds a duplicate name in any object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1 }), (object) => {
      const [name] = Object.keys(object) as [string];
      const text = JSON.stringify(object);
      const doubled = `${text.slice(0, -1)},${JSON.stringify(name)}:null}`;
      expect(readStrictJson(`[${doubled}]`)).toHaveProperty('fault');
    }),
  );
});
