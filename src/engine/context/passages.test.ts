import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passagesOf } from './passages.js';

const linesOf = (text: string) =>
  passagesOf('a.md', text).map(({ first_line, last_line }) => [first_line, last_line]);
const headingsOf = (text: string) => passagesOf('a.md', text).map(({ heading }) => heading);
const paragraphOf = (word: string, length: number) =>
  word.repeat(Math.ceil(length / word.length)).slice(0, length);

describe('passages of a document', () => {
  it('begin at headings, and name the headings above them', () => {
    const text = '# Shop\nSells.\n\n## Cart\n\nHolds items.\n\n### Limits\nTen.\n## Pay\nCards.\n';
    expect(linesOf(text)).toEqual([
      [1, 2],
      [4, 6],
      [8, 9],
      [10, 11],
    ]);
    expect(headingsOf(text)).toEqual(['Shop', 'Shop > Cart', 'Shop > Cart > Limits', 'Shop > Pay']);
  });

  it('do not take a comment in a block of code for a heading', () => {
    const text = '# Run\n```sh\n# not a heading\nnpm test\n```\n## After\nDone.\n';
    expect(headingsOf(text)).toEqual(['Run', 'Run > After']);
    expect(headingsOf(text.replaceAll('```', '~~~~'))).toEqual(['Run', 'Run > After']);
  });

  it('end at an empty line when they are long enough', () => {
    const text = ['one', 'two', 'three'].map((word) => paragraphOf(word, 900)).join('\n\n');
    expect(linesOf(text)).toEqual([
      [1, 1],
      [3, 3],
      [5, 5],
    ]);
    const short = ['one', 'two', 'three'].map((word) => paragraphOf(word, 90)).join('\n\n');
    expect(linesOf(short)).toEqual([[1, 5]]);
  });

  it('split a line that is too long, but no character', () => {
    const text = `short\n${'\u{1F600}'.repeat(3001)}\nshort`;
    const passages = passagesOf('a.md', text);
    expect(linesOf(text)[0]).toEqual([1, 1]);
    expect(new Set(linesOf(text).slice(1, -1).flat())).toEqual(new Set([2]));
    expect(passages.every(({ text: part }) => Buffer.from(part).toString() === part)).toBe(true);
    expect(passages.map((passage) => passage.text).join('')).toBe(text.replaceAll('\n', ''));
  });

  it('contain every line that is not empty once, in order, at the lines that they name', () => {
    const line = fc.oneof(
      fc.constantFrom('', ' ', '# A', '## B', '```', '~~~', 'word '.repeat(100)),
      fc.string({ maxLength: 40 }).map((text) => text.replaceAll('\n', '')),
    );
    const property = fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
      const passages = passagesOf('a.md', lines.join('\n'));
      const allLines: string[] = [];
      for (const { first_line, last_line, text } of passages) {
        const passageLines = text.split('\n');
        expect(passageLines).toEqual(lines.slice(first_line - 1, last_line));
        expect(text.length).toBeLessThanOrEqual(1700);
        allLines.push(...passageLines);
      }
      const isFilled = (text: string) => text.trim() !== '';
      expect(allLines.filter(isFilled)).toEqual(lines.filter(isFilled));
    });
    fc.assert(property, { numRuns: 300 });
  });
});
