import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.js';
import { startHarness } from './testing/cli-harness.js';
import { runGen, type TerminalOptions } from './testing/terminal.js';

const CHECKLIST = `## Database
- [ ] Design the schema
  - [ ] tables
- [x] Choose an engine
- [ ] Load the data
`;
const runForJson = async (terminal: TerminalOptions, ...argv: string[]) =>
  JSON.parse((await runGen(terminal, ...argv, '--json')).out);

async function terminalWith(checklist: string) {
  const { terminal } = await startHarness();
  await writeFile(join(terminal.cwd, 'TODO.md'), checklist);
  return { ...terminal, env: { ...terminal.env, GENESIS_PROJECT: 'shop' } };
}

it('shows with --dry-run which task each item becomes, and changes nothing', async () => {
  const terminal = await terminalWith(CHECKLIST);
  const { code, out } = await runGen(terminal, 'plan', 'import', 'TODO.md', '--dry-run');
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Original id +Task +Status +Title\nDesign the schema +A-001-design-the-schema +new +Design/,
  );
  expect(out).toMatch(/\nChoose an engine +done +Choose an engine\n/);
  expect(out).toContain('Nothing was changed.');
  expect(await runForJson(terminal, 'plan', 'import', 'TODO.md', '--dry-run')).toMatchObject({
    dry_run: true,
    project: 'shop',
    format: 'markdown',
    mapping: [
      { original_id: 'Design the schema', task_id: 'A-001-design-the-schema', status: 'new', line: 2 },
      { original_id: 'Choose an engine', task_id: null, status: 'done' },
      { task_id: 'A-002-load-the-data' },
    ],
  });
  expect((await runForJson(terminal, 'projects')).projects).toEqual([]);
});

it('keeps ids, claims and results when a checklist is edited and imported again', async () => {
  const terminal = await terminalWith(CHECKLIST);
  expect((await runGen(terminal, 'plan', 'import', 'TODO.md')).out).toContain(
    'shop: plan version 1, 2 tasks, 1 subtask (2 added, 0 changed, 0 removed)',
  );
  await runGen(terminal, 'task', 'claim', 'A-001-design-the-schema::1');
  await runGen(terminal, 'task', 'submit', 'A-001-design-the-schema::1', '--data', '"done"');
  const edited = CHECKLIST.replace('- [ ] Design', '- [ ] Ask users\n- [x] Design').replace(
    '- [ ] Load',
    '- [ ] Test\n- [ ] Load',
  );
  await writeFile(join(terminal.cwd, 'TODO.md'), edited);
  const preview = await runForJson(terminal, 'plan', 'import', 'TODO.md', '--dry-run');
  expect(preview).toMatchObject({
    removed: [],
    mapping: [{ status: 'new' }, { status: 'kept' }, {}, {}, { status: 'kept' }],
  });
  const reply = await runForJson(terminal, 'plan', 'import', 'TODO.md');
  expect(reply).toMatchObject({ version: 2, added: 2, removed: 0, mapping: preview.mapping });
  const { plan } = await runForJson(terminal, 'plan', 'show');
  expect(plan.tracks.A).toMatchObject([
    { id: 'A-001-design-the-schema', metadata: { original_id: 'Design the schema' } },
    { id: 'A-002-load-the-data', depends_on: ['A-004-test'] },
    { id: 'A-003-ask-users', depends_on: [] },
    { id: 'A-004-test', depends_on: ['A-001-design-the-schema'] },
  ]);
  expect((await runForJson(terminal, 'task', 'result', 'A-001-design-the-schema::1')).result_data).toBe(
    'done',
  );
});

it('imports issues from standard input, and reports a dependency that is not in the file', async () => {
  const terminal = await terminalWith('');
  const issues = [
    {
      number: 2,
      title: 'Search',
      body: 'Depends on #1 and #7',
      labels: [{ name: 'track:B' }],
      state: 'OPEN',
    },
    { number: 1, title: 'Index', body: null, labels: [], state: 'OPEN' },
  ];
  const { code, out, err } = await runGen(
    { ...terminal, stdin: JSON.stringify(issues) },
    'plan',
    'import',
    '-',
  );
  expect(code).toBe(0);
  expect(out).toContain('2 tasks');
  expect(err).toContain('2 depends on "#7", which is not in the file');
  expect((await runForJson(terminal, 'task', 'show', 'B-001-search')).waiting_for).toEqual(['A-001-index']);
});

it('reads the format from --format, and refuses an unknown format', async () => {
  const terminal = await terminalWith(CHECKLIST);
  await writeFile(join(terminal.cwd, 'todo.txt'), CHECKLIST);
  const preview = await runForJson(
    terminal,
    'plan',
    'import',
    'todo.txt',
    '--format',
    'markdown',
    '--dry-run',
  );
  expect(preview.mapping).toHaveLength(3);
  expect(await runGen(terminal, 'plan', 'import', 'TODO.md', '--format', 'issues')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^TODO\.md:1:1: BAD_VALUE: .*not a JSON list of issues/),
  });
  expect((await runGen(terminal, 'plan', 'import', 'TODO.md', '--format', 'xml')).code).toBe(2);
  const plan = await runForJson(terminal, 'plan', 'import', 'plan.yaml', '--dry-run');
  expect(plan).toMatchObject({
    format: 'plan',
    mapping: [{ task_id: 'A-001-schema', status: 'new' }, {}, {}],
  });
});

it('lists the faults of a checklist with their lines, without a server', async () => {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'TODO.md'), '- [ ] One\n- [ ] Two (after: Nothing)\n');
  expect(await runGen({ cwd }, 'plan', 'check', 'TODO.md')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^TODO\.md:2:1: UNKNOWN_DEPENDENCY: .*\n1 fault\. Nothing was changed\.\n$/),
  });
  await writeFile(join(cwd, 'TODO.md'), '- [ ] One\n');
  expect((await runGen({ cwd }, 'plan', 'check', 'TODO.md')).out).toContain('valid: 1 track, 1 task');
  expect(await runGen({ cwd }, 'plan', 'import', 'TODO.md')).toMatchObject({
    code: 2,
    err: expect.stringContaining('Pass --project NAME'),
  });
});
