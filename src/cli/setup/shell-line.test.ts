import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellLine } from './shell-line.js';

const WORDS = [
  'plain',
  '',
  'two words',
  "it's",
  '"',
  '$HOME',
  '`id`',
  'a\\b\\',
  '~',
  '*',
  '&',
  '!',
  '%PATH%',
];

test('a POSIX shell splits the line back into exactly the given words', () => {
  const print = ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--'];
  const printed = execFileSync('/bin/sh', ['-c', shellLine('posix', [process.execPath, ...print, ...WORDS])]);
  expect(JSON.parse(String(printed))).toEqual(WORDS);
});

test('for cmd, quotes words with double quotes and doubles the backslashes before a quote', () => {
  const words = ['C:\\node.exe', 'two words', 'C:\\two words\\', 'say "it"', '\\"', ''];
  expect(shellLine('cmd', words)).toBe(
    'C:\\node.exe "two words" "C:\\two words\\\\" "say \\"it\\"" "\\\\\\"" ""',
  );
});

test('for PowerShell, quotes words with single quotes and calls a quoted program with &', () => {
  expect(shellLine('powershell', ['C:\\a b\\node.exe', "it's", '$x'])).toBe(
    "& 'C:\\a b\\node.exe' 'it''s' '$x'",
  );
  expect(shellLine('powershell', ['C:\\node.exe', 'x'])).toBe('C:\\node.exe x');
});
