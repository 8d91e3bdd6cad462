import { expect, it } from 'vitest';
import { DEFAULT_PATHS, defaultsModule } from './defaults.js';

const filesOf = (text: string) => new Map(DEFAULT_PATHS.map((path) => [path as string, text]));

it('writes a module that holds every text unchanged', () => {
  const text = 'a: "`$' + '{b}` \\n"\n# é\n';
  const list = defaultsModule(filesOf(text))
    .split('new Map(')[1]
    ?.replace(/\);\n$/, '');
  expect(new Function(`return ${list}`)()).toEqual(DEFAULT_PATHS.map((path) => [path, text]));
});

it('refuses a missing file and a file that is not listed', () => {
  expect(() => defaultsModule(new Map())).toThrow('There is no graph/graph_topology.yml');
  expect(() => defaultsModule(filesOf('').set('other.yml', ''))).toThrow(
    'DEFAULT_PATHS does not list other.yml',
  );
});
