import { expect, it } from 'vitest';
import { type ImportGraph, importGraphOf, reachingTests } from './reaching-tests.js';

const imports = (...paths: string[]) => ({
  imports: paths.map((path) => ({ path, kind: 'import-statement' as const })),
});

it('finds the tests that load a file, the nearest first', () => {
  const graph: ImportGraph = {
    'src/a/x.ts': imports(),
    'src/a/y.ts': imports('src/a/x.ts'),
    'src/a/x.test.ts': imports('src/a/x.ts'),
    'src/a/b.test.ts': imports('src/a/y.ts'),
    'src/c/z.test.ts': imports('src/a/y.ts'),
    'src/a/other.test.ts': imports('src/a/b.ts'),
  };
  const tests = Object.keys(graph).filter((file) => file.endsWith('.test.ts'));
  expect(reachingTests(graph, tests, 'src/a/x.ts')).toEqual([
    'src/a/x.test.ts',
    'src/a/b.test.ts',
    'src/c/z.test.ts',
  ]);
  expect(reachingTests(graph, tests, 'src/a/none.ts')).toEqual([]);
});

it('follows imports of values, and not of types', async () => {
  const test = 'src/core/plan/task-id.test.ts';
  const graph = await importGraphOf([test]);
  expect(reachingTests(graph, [test], 'src/core/plan/task-id.ts')).toEqual([test]);
  expect(reachingTests(graph, [test], 'src/core/claims/decide.ts')).toEqual([]);
});
