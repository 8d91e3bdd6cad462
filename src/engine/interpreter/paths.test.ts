import { describe, expect, it, test } from 'vitest';
import { fillTemplate, readPath, writePath } from './paths.js';

const SOURCES = {
  input: { a: { 'b-c': [{ d: 1 }, null] }, list: [1, 2], zero: 0, text: 'abc', numbered: { 0: 'x' } },
  context: { Execution: { Input: { id: 7 } } },
};

describe('a path', () => {
  test.each([
    ['$', SOURCES.input],
    ['$.a.b-c[0].d', 1],
    ['$.a.b-c[1]', null],
    ['$.zero', 0],
    ['$$.Execution.Input.id', 7],
    ['$$', SOURCES.context],
  ])('%s selects a value', (path, value) => {
    expect(readPath(path, SOURCES)).toEqual(value);
  });

  test.each([
    '$.none',
    '$.a.none.deeper',
    '$.list[2]',
    '$.a.b-c[1].d',
    // JavaScript would find these, but JSON does not have them.
    '$.list.length',
    '$.text.length',
    '$.text[0]',
    '$.numbered[0]',
    '$.constructor',
    '$.__proto__',
    '$.list.map',
  ])('%s has no value', (path) => {
    expect(readPath(path, SOURCES)).toBeUndefined();
  });

  test.each(['', 'a', '$a', '$.', '$..a', '$.a[*]', '$.a[-1]', '$.a[0:1]', '$$$', '$.a b', 'States.UUID()'])(
    '%j is refused',
    (path) => {
      expect(() => readPath(path, SOURCES)).toThrow(expect.objectContaining({ name: 'States.Runtime' }));
    },
  );
});

describe('a result', () => {
  test.each([
    ['$', { a: 1 }, 'r'],
    ['$.b', { a: 1 }, { a: 1, b: 'r' }],
    ['$.a', { a: 1, b: 2 }, { a: 'r', b: 2 }],
    ['$.b.c.d', { a: 1 }, { a: 1, b: { c: { d: 'r' } } }],
    ['$.b.d', { b: { c: 1 } }, { b: { c: 1, d: 'r' } }],
    ['$.list[1]', { list: [1, 2, 3] }, { list: [1, 'r', 3] }],
    ['$.list[0].a', { list: [{ b: 1 }] }, { list: [{ b: 1, a: 'r' }] }],
  ])('is put at %s', (path, input, output) => {
    const before = structuredClone(input);
    expect(writePath(path, input, 'r')).toEqual(output);
    expect(input).toEqual(before);
  });

  test.each([
    ['$.a', 'text'],
    ['$.a', null],
    ['$.a', [1]],
    ['$.a.b', { a: 1 }],
    ['$.a.b', { a: null }],
    ['$.a.b', { a: [] }],
    ['$.list[2]', { list: [1, 2] }],
    ['$.none[0]', {}],
    ['$.object[0]', { object: {} }],
  ])('does not fit at %s of %j', (path, input) => {
    expect(() => writePath(path, input, 'r')).toThrow(
      expect.objectContaining({ name: 'States.ResultPathMatchFailure' }),
    );
  });

  it('is not put into the context', () => {
    expect(() => writePath('$$.a', {}, 'r')).toThrow(expect.objectContaining({ name: 'States.Runtime' }));
  });

  it('is put into a field with the name of a prototype', () => {
    const output = writePath('$.__proto__.polluted', {}, true);
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
    expect(JSON.stringify(output)).toBe('{"__proto__":{"polluted":true}}');
  });
});

describe('a template', () => {
  it('replaces the fields whose names end with .$, at any depth', () => {
    const filled = fillTemplate(
      {
        fixed: '$.zero',
        'whole.$': '$.list',
        nested: { 'id.$': '$$.Execution.Input.id', items: [{ 'text.$': '$.text' }, 3, null] },
      },
      SOURCES,
    );
    expect(filled).toEqual({
      fixed: '$.zero',
      whole: [1, 2],
      nested: { id: 7, items: [{ text: 'abc' }, 3, null] },
    });
  });

  it('treats null as a value, not as a missing value', () => {
    expect(fillTemplate({ 'x.$': '$.a.b-c[1]' }, SOURCES)).toEqual({ x: null });
  });

  it('fails at a path without a value', () => {
    expect(() => fillTemplate({ 'x.$': '$.none' }, SOURCES)).toThrow(
      expect.objectContaining({ name: 'States.ParameterPathFailure' }),
    );
  });

  it('changes no prototype', () => {
    const template = JSON.parse('{"__proto__": {"a": 1}, "b": {"__proto__.$": "$.list"}}');
    expect(JSON.stringify(fillTemplate(template, SOURCES))).toBe(
      '{"__proto__":{"a":1},"b":{"__proto__":[1,2]}}',
    );
  });
});
