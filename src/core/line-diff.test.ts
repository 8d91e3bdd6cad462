import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unifiedDiff } from './line-diff.js';

const linesText = (...lines: string[]) => lines.map((line) => `${line}\n`).join('');

it('shows changed lines with three lines of context', () => {
  const before = linesText('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i');
  const after = linesText('a', 'b', 'c', 'd', 'E', 'f', 'g', 'h', 'i');
  expect(unifiedDiff(before, after).split('\n')).toEqual([
    '@@ -2,7 +2,7 @@',
    ' b',
    ' c',
    ' d',
    '-e',
    '+E',
    ' f',
    ' g',
    ' h',
  ]);
});

it('separates changes that are far apart', () => {
  const middle = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  const diff = unifiedDiff(linesText('old', ...middle, 'end'), linesText('new', ...middle, 'END'));
  expect(diff.split('\n').filter((line) => line.startsWith('@@'))).toEqual([
    '@@ -1,4 +1,4 @@',
    '@@ -19,4 +19,4 @@',
  ]);
});

it('a diff of equal texts is empty, and an empty side has the range 0,0', () => {
  expect(unifiedDiff('same\n', 'same\n')).toBe('');
  expect(unifiedDiff('', 'new\n')).toBe('@@ -0,0 +1 @@\n+new');
});

it('marks a last line without a line break', () => {
  expect(unifiedDiff('one\n', 'one')).toBe('@@ -1 +1 @@\n-one\n+one\n\\ No newline at end of file');
});

it('replaces everything from the first difference on if there are too many differences', () => {
  const before = linesText('head', ...Array.from({ length: 2500 }, (_, at) => `a${at}`));
  const after = linesText('head', ...Array.from({ length: 2500 }, (_, at) => `b${at}`));
  const lines = unifiedDiff(before, after).split('\n');
  expect(lines[0]).toBe('@@ -1,2501 +1,2501 @@');
  expect(lines.slice(0, 4)).toEqual(['@@ -1,2501 +1,2501 @@', ' head', '-a0', '-a1']);
  expect(lines.at(-1)).toBe('+b2499');
});

/** Applies a diff to the old text. */
function applyDiff(before: string, diff: string): string {
  const oldLines = before.split(/(?<=\n)/).filter((line) => line !== '');
  const result: string[] = [];
  let nextLine = 0;
  for (const line of diff === '' ? [] : diff.split('\n')) {
    const header = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (header !== null) {
      const start = Number(header[1]) - (header[2] === '0' ? 0 : 1);
      result.push(...oldLines.slice(nextLine, start));
      nextLine = start;
    } else if (line.startsWith('\\')) result.push((result.pop() ?? '').slice(0, -1));
    else if (line.startsWith('-')) nextLine += 1;
    else {
      if (line.startsWith(' ')) nextLine += 1;
      result.push(`${line.slice(1)}\n`);
    }
  }
  return [...result, ...oldLines.slice(nextLine)].join('');
}

it('turns the old text into the new one', () => {
  const someText = fc
    .array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 })
    .map((lines) => linesText(...lines));
  fc.assert(
    fc.property(someText, someText, (before, after) => {
      expect(applyDiff(before, unifiedDiff(before, after))).toBe(after);
    }),
  );
});
