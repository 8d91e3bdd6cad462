import { expect, it } from 'vitest';
import { startPlannedHarness } from '../testing/cli-harness.js';
import { runGen } from '../testing/terminal.js';
import { table } from './table.js';

const ROWS = [
  { id: 'A-001-x', text: 'a long text that has to give way where it is narrow' },
  { id: 'B-001-yy', text: 'short' },
];
const COLUMNS = [
  { title: 'Id', cell: ({ id }: (typeof ROWS)[number]) => id },
  { title: 'Text', cell: ({ text }: (typeof ROWS)[number]) => text, is_flexible: true },
];

it('lists the cells of each row, whole, on a terminal that is too narrow for the fixed columns', () => {
  const columns = [
    { title: 'Id', cell: ({ id }: { id: string }) => id },
    { title: 'Acquired', cell: () => '2026-01-04 06:05:00', is_fixed: true },
  ];
  expect(table([{ id: 'one' }, { id: 'two' }], columns, 20)).toBe(
    'Id        one\nAcquired  2026-01-04 06:05:00\n\nId        two\nAcquired  2026-01-04 06:05:00',
  );
});

it('prints a table in full to a pipe, and within the width of a terminal', () => {
  expect(table(ROWS, COLUMNS, null)).toContain('give way where it is narrow');
  const narrow = table(ROWS, COLUMNS, 30).split('\n');
  expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(30);
  expect(narrow[1]).toMatch(/^A-001-x {3}a long .*…$/);
});

it('collapses escape sequences and line breaks in a cell', () => {
  const [row] = table([{ id: 'x', text: 'red \u001b[31m\nnew line' }], COLUMNS, null)
    .split('\n')
    .slice(1);
  expect(row).toBe('x   red  [31m new line');
});

it('uses colour only on a terminal, and not if NO_COLOR is set', async () => {
  const { terminal } = await startPlannedHarness();
  const ESCAPE = '\u001b[';
  const { env } = terminal;
  expect((await runGen({ ...terminal, columns: 80 }, 'status')).out).toContain(ESCAPE);
  expect(
    (await runGen({ ...terminal, columns: 80, env: { ...env, NO_COLOR: '1' } }, 'status')).out,
  ).not.toContain(ESCAPE);
  expect((await runGen(terminal, 'status')).out).not.toContain(ESCAPE);
  expect((await runGen({ ...terminal, columns: 80 }, 'status', '--json')).out).not.toContain(ESCAPE);
});
