import { expect, it } from 'vitest';
import { buildProgram } from './program.js';
import { allCommandGroups, commandGroupsFor } from './registry.js';
import { start } from './testing/terminal.js';

const { io } = start({ cwd: '.' }, '--version');
const namesIn = async (...argv: string[]) =>
  buildProgram(io, await commandGroupsFor(argv), () => {}).commands.map((each) => each.name());

it('every command is found by its own name, alone', async () => {
  const all = buildProgram(io, await allCommandGroups(), () => {}).commands.map((each) => each.name());
  for (const name of all.filter((each) => each !== 'completion')) {
    const found = await namesIn(name);
    expect(found, name).toContain(name);
    expect(found.length, name).toBeLessThan(4);
  }
});

it('the value of an option is not taken for a command, and what is unknown brings all of them', async () => {
  expect(await namesIn('--agent', 'status', '--json', 'task', 'show')).toEqual(['task']);
  expect(await namesIn('--agent=x', 'task')).toEqual(['task']);
  expect((await namesIn('statsu')).length).toBeGreaterThan(10);
  expect((await namesIn('help', 'task')).length).toBeGreaterThan(10);
  expect((await namesIn()).length).toBeGreaterThan(10);
});
