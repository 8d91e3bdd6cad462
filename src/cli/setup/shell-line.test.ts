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

test('a shell of POSIX reads back exactly the words it was given', () => {
  const print = ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--'];
  const reply = execFileSync('/bin/sh', ['-c', shellLine('posix', [process.execPath, ...print, ...WORDS])]);
  expect(JSON.parse(String(reply))).toEqual(WORDS);
});

test('for cmd a word is in double quotes, and a backslash before one of them is doubled', () => {
  const words = ['C:\\node.exe', 'two words', 'C:\\two words\\', 'say "it"', '\\"', ''];
  expect(shellLine('cmd', words)).toBe(
    'C:\\node.exe "two words" "C:\\two words\\\\" "say \\"it\\"" "\\\\\\"" ""',
  );
});

test('for PowerShell a quoted program is called, and a word is in single quotes', () => {
  expect(shellLine('powershell', ['C:\\a b\\node.exe', "it's", '$x'])).toBe(
    "& 'C:\\a b\\node.exe' 'it''s' '$x'",
  );
  expect(shellLine('powershell', ['C:\\node.exe', 'x'])).toBe('C:\\node.exe x');
});
