import { describe, expect, it } from 'vitest';
import { mutantsOf } from './flips.js';
import { mutate } from './mutant.js';

const mutantsIn = (text: string): string[] =>
  mutantsOf('a.ts', text).map((mutant) => mutate(text, mutant).trim());

describe('a random mutant', () => {
  it.each([
    ['f(a === b)', ['f(a !== b)']],
    ['f(a !== b)', ['f(a === b)']],
    ['f(a < b)', ['f(a <= b)']],
    ['f(a >= b)', ['f(a > b)']],
    ['f(a && b)', ['f(a || b)']],
    ['f(a || b)', ['f(a && b)']],
    ['f(a + b)', ['f(a - b)']],
    ['f(!a)', ['f(a)']],
    ['f(true)', ['f(false)']],
    ['f(a ?? b)', ['f((b))']],
    ['f(10)', ['f(11)', 'f(9)']],
    ['f({ a: 1_000 })', ['f({ a: 1001 })', 'f({ a: 999 })']],
    ['f((a < b) === c)', ['f((a < b) !== c)', 'f((a <= b) === c)']],
  ])('changes %s', (text, mutated) => {
    expect(mutantsIn(text)).toEqual(mutated);
  });

  it('negates what a function of type boolean returns', () => {
    expect(mutantsIn('const f = (): boolean => g();')).toEqual(['const f = (): boolean => !(g());']);
    expect(mutantsIn('function f(a): a is B { return g(a); }')).toEqual([
      'function f(a): a is B { return !(g(a)); }',
    ]);
    expect(mutantsIn('function f(): boolean { const h = () => { return g(); }; }')).toEqual([]);
    expect(mutantsIn('const f = (): boolean => a === b;')).toEqual(['const f = (): boolean => a !== b;']);
  });

  it.each([
    "f('a' + b)",
    `f(\`\${a}\` + b + c)`,
    'interface A { readonly b: 1 | true }',
    'const a = b as 1;',
    "import { a } from 'b';",
    'f({ 1: a })',
  ])('does not change %s', (text) => {
    expect(mutantsIn(text)).toEqual([]);
  });

  it('changes one of several equal places, and names its line and both texts', () => {
    const text = 'a();\nf(x < 2);\nb();\nf(x < 2);\n';
    const second = mutantsOf('a.ts', text).filter(({ name }) => name === 'a.ts:4');
    expect(second.map(({ harm }) => harm)).toEqual(['x < 2  →  x <= 2', '2  →  3', '2  →  1']);
    expect(second.map((mutant) => mutate(text, mutant))).toEqual([
      'a();\nf(x < 2);\nb();\nf(x <= 2);\n',
      'a();\nf(x < 2);\nb();\nf(x < 3);\n',
      'a();\nf(x < 2);\nb();\nf(x < 1);\n',
    ]);
  });
});
