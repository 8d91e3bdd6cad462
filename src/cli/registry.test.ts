import { expect, it } from 'vitest';
import { buildProgram } from './program.js';
import { allCommandGroups, commandGroupsFor } from './registry.js';
import { runGen, startCommand } from './testing/terminal.js';

const { io } = startCommand({ cwd: '.' }, '--version');
const namesIn = async (...argv: string[]) =>
  buildProgram(io, await commandGroupsFor(argv), () => {}).commands.map((each) => each.name());

it('loads only the module of the named command', async () => {
  const all = buildProgram(io, await allCommandGroups(), () => {}).commands.map((each) => each.name());
  for (const name of all.filter((each) => each !== 'completion')) {
    const loadedNames = await namesIn(name);
    expect(loadedNames, name).toContain(name);
    expect(loadedNames.length, name).toBeLessThan(4);
  }
});

it.each([
  ['explain', 'gen task explain'],
  ['submit', 'gen task submit'],
  ['enrol', 'gen runner enrol'],
  ['show', 'gen plan show or gen task show'],
  ['statsu', 'gen status'],
])('suggests the command that gen %s may mean', async (word, suggestion) => {
  const { code, err } = await runGen({ cwd: '.' }, word, 'A-001');
  expect(code).toBe(2);
  expect(err).toContain(`There is no command gen ${word}. Did you mean ${suggestion}`);
});

it('lists every command under one of the five headings of the help', async () => {
  const program = buildProgram(io, await allCommandGroups(), () => {});
  const headings = program
    .createHelp()
    .visibleCommands(program)
    .map((each) => each.helpGroup());
  expect([...new Set(headings)]).toEqual([
    'Start and watch:',
    'Work:',
    'Methodology:',
    'Connect agents:',
    'Operate:',
  ]);
});

it('skips option values when it looks for the command, and loads all modules for an unknown command', async () => {
  expect(await namesIn('--agent', 'status', '--json', 'task', 'show')).toEqual(['task']);
  expect(await namesIn('--agent=x', 'task')).toEqual(['task']);
  expect((await namesIn('statsu')).length).toBeGreaterThan(10);
  expect((await namesIn('help', 'task')).length).toBeGreaterThan(10);
  expect((await namesIn()).length).toBeGreaterThan(10);
});
