import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './bundle.js';
import { mutate } from './mutant.js';
import { MUTANTS } from './mutants.js';

describe('mutants', () => {
  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('apply to the source: %s', (_, mutant) => {
    const source = readFileSync(join(ROOT, mutant.file), 'utf8');
    expect(mutate(source, mutant)).not.toBe(source);
  });

  it('have unique names', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it('are refused when their text is missing or occurs twice', () => {
    const mutant = { name: 'm', file: 'f', find: 'a', replace: 'b', harm: '' };
    expect(() => mutate('c', mutant)).toThrow('occurs 0 times');
    expect(() => mutate('aa', mutant)).toThrow('occurs 2 times');
  });
});
