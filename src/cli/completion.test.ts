import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { runGen } from './testing/terminal.js';

const run = promisify(execFile);

it('completes commands, subcommands and options in bash', async () => {
  const cwd = await temporaryFolder();
  const { out } = await runGen({ cwd }, 'completion', 'bash');
  const completionsFor = async (...words: string[]): Promise<string[]> => {
    const line = words.map((word) => `'${word}'`).join(' ');
    const complete = `COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _gen; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['-c', `${out}\n${complete}`]);
    return stdout.trim().split(' ');
  };
  expect(await completionsFor('gen', 'ta')).toEqual(['task']);
  expect(await completionsFor('gen', '--json', 'task', 'su')).toEqual(['submit']);
  expect(await completionsFor('gen', 'task', 'submit', '--f')).toEqual(['--file']);
  expect(await completionsFor('gen', 'completion', '')).toEqual(
    expect.arrayContaining(['bash', 'zsh', 'fish']),
  );
  expect(await completionsFor('gen', 'run', '--', 'ta')).toEqual(['']);
});

it('includes every command in the zsh and fish scripts, and refuses an unknown shell', async () => {
  const cwd = await temporaryFolder();
  expect((await runGen({ cwd }, 'completion', 'zsh')).out).toMatch(/"task"\) compadd -- .*\bforce-release\b/);
  expect((await runGen({ cwd }, 'completion', 'fish')).out).toContain(
    "__fish_seen_subcommand_from task; and __fish_seen_subcommand_from submit' -l file",
  );
  expect((await runGen({ cwd }, 'completion', 'tcsh')).code).toBe(2);
});
