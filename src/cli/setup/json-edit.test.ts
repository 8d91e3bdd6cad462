import { expect, it } from 'vitest';
import { addChild, nodeAt, removeChildren } from './json-edit.js';
import { parseJsonNodes } from './parse-json-nodes.js';

const TEXTS = [
  '{}',
  '{ }\n',
  '{\n}',
  '{"a": 1}',
  '{"a": {"x": [1, 2]}, "b": null}\n',
  '{\n\t"a": 1,\n\t"b": "}, //no comment"\n}\n',
  '// first\n{\n  "a": 1, // one\n  /* two */ "b": [\n    "x", // why\n  ],\n  // last\n}\n',
  '\uFEFF{"a": -1.5e3, "q": "\\"{"}',
];

it.each(TEXTS)('adds a member to %j and removes it again without a trace', (text) => {
  const added = addChild(text, [], 'new', { deep: ['value'] });
  expect(nodeAt(added, ['new', 'deep'])?.value).toEqual(['value']);
  expect(parseJsonNodes(added).value).toEqual({
    ...(parseJsonNodes(text).value as object),
    new: { deep: ['value'] },
  });
  const removed = removeChildren(added, [], ({ name }) => name === 'new');
  expect(parseJsonNodes(removed).value).toEqual(parseJsonNodes(text).value);
  for (const comment of text.match(/ \/\/.*|\/\*.*?\*\//g) ?? []) {
    expect(added).toContain(comment);
    expect(removed).toContain(comment);
  }
});

it('removes the containers that it empties, unless a comment is in them', () => {
  const isX = ({ node }: { node: { value: unknown } }) => node.value === 'x';
  expect(removeChildren('{"a": {"b": ["x"]}, "c": 1}', ['a', 'b'], isX)).toBe('{ "c": 1}');
  expect(removeChildren('{"a": ["x" /* mine */]}', ['a'], isX)).toBe('{"a": [ /* mine */]}');
  expect(removeChildren('{"a": ["x", "y", "x"]}', ['a'], isX)).toBe('{"a": [ "y" ]}');
});

it.each([
  '',
  '{',
  '{"a" 1}',
  '{"a": 1 "b": 2}',
  '{"a": 01}',
  '{a: 1}',
  '{"a": 1} x',
  '/* {}',
  '{"a": tru}',
  '['.repeat(1000),
])('refuses %j', (text) => {
  expect(() => parseJsonNodes(text)).toThrow(SyntaxError);
});
