import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { buildProgram } from './program.js';
import { allCommandGroups } from './registry.js';
import { commandReference } from './testing/manual.js';
import { startCommand } from './testing/terminal.js';

const PAGE = 'docs/cli.md';
const MARK =
  '<!-- What follows is written by src/cli/manual.test.ts: GENESIS_WRITE_DOCS=1 npx vitest run src/cli/manual.test.ts -->\n';

it('documents in docs/cli.md the --help output of every command', async () => {
  const { io } = startCommand({ cwd: '.' }, '--version');
  const [introduction = ''] = (await readFile(PAGE, 'utf8')).split(MARK);
  const page = `${introduction}${MARK}\n${commandReference(buildProgram(io, await allCommandGroups(), () => {}))}`;
  if (process.env.GENESIS_WRITE_DOCS === '1') await writeFile(PAGE, page);
  expect(await readFile(PAGE, 'utf8')).toBe(page);
});
