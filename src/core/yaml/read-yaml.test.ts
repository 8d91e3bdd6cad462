import { describe, expect, it } from 'vitest';
import { readYamlText } from './read-yaml.js';

describe('several documents in one file', () => {
  const text = '# head\n---\na: 1\n---\nb:\n  c: 2\n---\n# nothing\n';

  it('are merged by their top-level keys, and every path keeps its source position', () => {
    const { value, faults, locate } = readYamlText(text, 'merged');
    expect(value).toEqual({ a: 1, b: { c: 2 } });
    expect(faults).toEqual([]);
    expect(locate(['a'])).toEqual({ line: 3, column: 1 });
    expect(locate(['b', 'c'])).toEqual({ line: 6, column: 3 });
  });

  it('are a fault if a single document is expected', () => {
    expect(readYamlText(text, 'one').faults[0]?.message).toContain('multiple documents');
  });

  it('must not repeat a key', () => {
    const { faults } = readYamlText('a: 1\n---\na: 2\n', 'merged');
    expect(faults).toEqual([
      {
        path: ['a'],
        message: '"a" is written twice here; keep one of them.',
        source_position: { line: 3, column: 1 },
      },
    ]);
  });

  it('are not merged unless all of them are maps', () => {
    const { value, faults } = readYamlText('a: 1\n---\n- b\n', 'merged');
    expect(value).toBeUndefined();
    expect(faults[0]).toMatchObject({ source_position: { line: 3, column: 1 } });
  });
});

it('reads an empty text as null', () => {
  expect(readYamlText('', 'merged')).toMatchObject({ value: null, faults: [] });
  expect(readYamlText('# only a remark\n', 'merged')).toMatchObject({ value: null, faults: [] });
});

it('keeps arrows and numbers in names as they are written', () => {
  expect(readYamlText('"code↔unit_tests": 1\n007: 2\n', 'merged').value).toEqual({
    'code↔unit_tests': 1,
    '007': 2,
  });
});

describe('a file with a fault in every line', () => {
  const thousandLines = (line: (at: number) => string): string =>
    Array.from({ length: 1000 }, (_, index) => line(index)).join('\n');

  it.each([
    ['a duplicate name', thousandLines(() => 'a: 1')],
    ['a name that is not text', thousandLines((at) => `k${at}: {[a]: 1}`)],
    ['an unknown tag', thousandLines((at) => `k${at}: !t a`)],
    ['an extra comma', `a: [${','.repeat(1000)}]`],
  ])('reports %s at most a hundred times', (_, text) => {
    expect(readYamlText(text, 'one').faults).toHaveLength(100);
  });

  it('still has a source position for each of its names', () => {
    const { locate } = readYamlText(`${thousandLines((at) => `k${at}: 1`)}\n`, 'one');
    expect(locate(['k0'])).toEqual({ line: 1, column: 1 });
    expect(locate(['k999'])).toEqual({ line: 1000, column: 1 });
    expect(locate(['k1000'])).toEqual({ line: 1, column: 1 });
  });
});
