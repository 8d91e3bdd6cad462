import { describe, expect, it } from 'vitest';
import { checkRequirements, summaryOf } from './requirements.js';

const line = (more: object = {}): string =>
  JSON.stringify({ id: 'CLK-001', seed: '004', section: '2', statement: 's', status: 'built', ...more });
const check = (manifest: readonly string[], ...texts: string[]) =>
  checkRequirements(
    { file: 'm', text: `${manifest.join('\n')}\n` },
    texts.map((text, index) => ({ file: `${index}.ts`, text })),
  );
const faults = (...args: Parameters<typeof check>): string[] =>
  check(...args).faults.map(({ file, line, message }) => `${file}:${line} ${message}`);

describe('a requirement', () => {
  it.each([
    ['text that is not JSON', 'x'],
    ['an unusual id', line({ id: 'CLOCK-1' })],
    ['an unknown seed', line({ seed: '005' })],
    ['an empty statement', line({ statement: '' })],
    ['an unknown status', line({ status: 'done' })],
    ['an unknown field', line({ owner: 'me' })],
    ['a measurement that is not a benchmark', line({ measured_by: 'by hand' })],
    ['a status other than built without a note', line({ status: 'dropped' })],
  ])('is refused with %s', (_, text) => {
    expect(faults([line({ id: 'ABC-001' }), text])).toEqual([expect.stringMatching(/^m:2 /)]);
  });

  it('has an id of its own', () => {
    expect(faults([line(), line({ status: 'planned', note: 'n' })])).toEqual([
      'm:2 CLK-001 is already in line 1',
    ]);
  });
});

describe('a citation', () => {
  const other = line({ id: 'CLK-002', status: 'partly', note: 'n' });

  it('names requirements of the list, directly above a test', () => {
    const tests = ['it(', 'test.each([', '  describe(`x`'];
    for (const test of tests)
      expect(faults([line(), other], `// req: CLK-001, CLK-002\n${test}`)).toEqual([]);
    expect(faults([line()], '\n// req: CLK-009\nit(')).toEqual(['0.ts:2 CLK-009 is not a requirement of m']);
    expect(faults([line()], '// req: CLK-001\n\nit(')).toEqual([
      '0.ts:1 the citation of CLK-001 is not directly above a test',
    ]);
    expect(faults([line()], '// req:\nit(')).toEqual(['0.ts:1  is not a requirement of m']);
  });

  it('is reported as missing for a built or partly built requirement that no test names', () => {
    const planned = line({ id: 'CLK-003', status: 'planned', note: 'n' });
    const result = check([line(), other, planned], '// req: CLK-001\nit(');
    expect(result.uncited.map(({ id }) => id)).toEqual(['CLK-002']);
    expect(summaryOf(result)).toBe(
      '3 requirements: 1 built, 1 partly, 1 planned, 0 dropped.\n1 built or partly built without a citing test: CLK-002',
    );
    expect(summaryOf(check([line()], '// req: CLK-001\nit('))).toBe(
      '1 requirements: 1 built, 0 partly, 0 planned, 0 dropped.',
    );
  });

  it('is not needed for a requirement that only a benchmark measures', () => {
    expect(check([line({ measured_by: 'npm run bench -- --only cycles' })])).toMatchObject({
      faults: [],
      uncited: [],
    });
  });
});
