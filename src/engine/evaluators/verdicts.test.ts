import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readVerdicts } from './verdicts.js';

const verdict = (name: string, more: object = {}) => ({
  name,
  result: 'pass',
  score: 0.9,
  issues: [],
  ...more,
});
const answer = (...verdicts: unknown[]): string => JSON.stringify({ verdicts });
const names = ['complete', 'clear'];
const complete = answer(verdict('complete'), verdict('clear', { result: 'fail' }));

it('reads one verdict for each check', () => {
  const read = readVerdicts(`\n ${complete} \n`, names);
  expect('verdicts' in read ? [...read.verdicts].map(([name, { result }]) => [name, result]) : read).toEqual([
    ['complete', 'pass'],
    ['clear', 'fail'],
  ]);
});

it.each([
  ['nothing', ''],
  ['words', 'All checks pass.'],
  ['text before it', `Here is my verdict:\n${complete}`],
  ['text after it', `${complete}\nI hope this helps.`],
  ['a code fence', `\`\`\`json\n${complete}\n\`\`\``],
  ['two answers', `${complete}\n${complete}`],
  ['a list', `[${complete}]`],
  ['a cut answer', complete.slice(0, -2)],
  ['a missing verdict', answer(verdict('complete'))],
  ['an unknown check', answer(verdict('complete'), verdict('clear'), verdict('reviewed_by_human'))],
  [
    'two verdicts about a check',
    answer(verdict('complete', { result: 'fail' }), verdict('complete'), verdict('clear')),
  ],
  ['a name twice', complete.replace('"result":"fail"', '"result":"fail","result":"pass"')],
  [
    'a name twice, once escaped',
    complete.replace('"result":"fail"', '"result":"fail","resul\\u0074":"pass"'),
  ],
  ['two lists of verdicts', complete.replace('{"verdicts"', '{"verdicts":[],"verdicts"')],
  ['a score without a result', answer({ name: 'complete', score: 1, issues: [] }, verdict('clear'))],
  ['a result without a score', answer({ name: 'complete', result: 'pass', issues: [] }, verdict('clear'))],
  ['no list of issues', answer({ name: 'complete', result: 'pass', score: 1 }, verdict('clear'))],
  ['an unknown result', answer(verdict('complete', { result: 'PASS' }), verdict('clear'))],
  ['a skipped check', answer(verdict('complete', { result: 'skip' }), verdict('clear'))],
  ['a boolean as the result', answer(verdict('complete', { result: true }), verdict('clear'))],
  ['a score above 1', answer(verdict('complete', { score: 95 }), verdict('clear'))],
  ['a score as text', answer(verdict('complete', { score: '1' }), verdict('clear'))],
  ['an unknown field', answer(verdict('complete', { required: false }), verdict('clear'))],
  [
    'a field beside the verdicts',
    JSON.stringify({ verdicts: [verdict('complete'), verdict('clear')], done: 1 }),
  ],
  ['a prototype', complete.replace('{"verdicts"', '{"__proto__":{"x":1},"verdicts"')],
  ['deep nesting', '['.repeat(100_000)],
])('refuses %s', (_, text) => {
  expect(readVerdicts(text, names)).toEqual({ fault: expect.stringMatching(/./) });
});

it('never reads a verdict from an answer with other text around it', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.boolean(), (extra, isBefore) => {
      fc.pre(extra.trim() !== '');
      return 'fault' in readVerdicts(isBefore ? extra + complete : complete + extra, names);
    }),
  );
});
