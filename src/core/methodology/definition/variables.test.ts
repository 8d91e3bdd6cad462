import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProjectConstraints } from './methodology.js';
import { isVariable, resolveVariables } from './variables.js';

const constraintsWith = (overrides: Partial<ProjectConstraints>): ProjectConstraints => ({
  project_name: null,
  language: null,
  tools: {},
  thresholds: {},
  standards: {},
  architecture: {},
  constraint_dimensions: {},
  ...overrides,
});

describe('resolving variables', () => {
  it('keeps shell variables and text that only looks like a variable', () => {
    const text = 'for f in *; do grep -q "$f" $MISSING || echo $tool.x $tools $5.00; done';
    expect(resolveVariables(text, constraintsWith({}))).toEqual({ ok: true, text });
  });

  it('inserts numbers, booleans and texts at any depth, and stops at punctuation', () => {
    const constraints = constraintsWith({
      thresholds: { a: 0.8, b: { c: true } },
      standards: { s: '$thresholds.b.c!' },
    });
    expect(resolveVariables('$thresholds.a, $standards.s.', constraints)).toEqual({
      ok: true,
      text: '0.8, true!.',
    });
  });

  it('allows a tool without args, but not a missing tool', () => {
    const constraints = constraintsWith({ tools: { lint: { command: 'lint' } } });
    const lint = '$tools.lint.command $tools.lint.args';
    expect(resolveVariables(lint, constraints)).toEqual({ ok: true, text: 'lint' });
    expect(resolveVariables('$tools.test.args', constraints)).toMatchObject({ ok: false });
  });

  it.each([
    ['$tools.a.command', { tools: { a: '$tools.a' } }, 'not set'],
    [
      '$tools.a',
      { tools: { a: '$standards.b' }, standards: { b: '$tools.a' } },
      '$tools.a → $standards.b → $tools.a is a cycle',
    ],
    ['$tools.a', { tools: { a: ['x'] } }, 'not a single value'],
    ['$tools.a', { tools: { a: '' } }, 'is empty'],
    ['$tools.a', { tools: { a: null } }, 'is empty'],
    ['$tools.constructor', {}, 'not set'],
    ['$tools.a', { tools: { a: '$tools.b '.repeat(40), b: '$tools.c '.repeat(40), c: 'x' } }, 'More than'],
  ])('fails for %s with %j', (text, values, expectedMessage) => {
    expect(resolveVariables(text, constraintsWith(values))).toEqual({
      ok: false,
      message: expect.stringContaining(expectedMessage),
    });
  });
});

it('recognizes a variable only if it is the whole text', () => {
  expect(isVariable('$tools.type_checker.required')).toBe(true);
  expect(isVariable('$tools')).toBe(false);
  expect(isVariable('not $tools.a')).toBe(false);
  expect(isVariable('$env.a')).toBe(false);
});

it('always terminates', () => {
  const value = fc.array(fc.constantFrom('$tools.a', '$tools.b', '$standards.a', '$x', ' '), {
    maxLength: 12,
  });
  const texts = fc.record({ a: value, b: value, c: value });
  fc.assert(
    fc.property(texts, value, ({ a, b, c }, text) => {
      const constraints = constraintsWith({
        tools: { a: a.join(''), b: b.join('') },
        standards: { a: c.join('') },
      });
      expect(typeof resolveVariables(text.join(''), constraints).ok).toBe('boolean');
    }),
  );
});
