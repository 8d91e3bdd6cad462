import { expect, it } from 'vitest';
import { nameFaults } from './names.js';

const faults = (texts: Readonly<Record<string, string>>) =>
  nameFaults(Object.entries(texts).map(([file, text]) => ({ file, text })));

it.each([
  'export function readPlan() {}',
  'export async function readPlan() {}',
  'export const readPlan = () => 1;',
  'export const [, { readPlan }] = open();',
  'export class readPlan {}',
  'export enum readPlan {}',
])('refuses a value of src with the name of one that another file exports: %s', (text) => {
  expect(faults({ 'src/core/a.ts': 'export const readPlan = 1;', 'src/cli/b.ts': `\n${text}` })).toEqual([
    { file: 'src/cli/b.ts', line: 2, message: 'the value readPlan is also exported by src/core/a.ts' },
  ]);
});

it.each([
  ['a value that is not exported', 'src/cli/b.ts', 'const readPlan = 1;'],
  ['a re-export', 'src/cli/b.ts', "export { readPlan } from '../core/a.js';"],
  ['a type', 'src/cli/b.ts', 'export type readPlan = 1;'],
  ['a test', 'src/cli/b.test.ts', 'export const readPlan = 1;'],
  ['test support in a file', 'src/cli/testing.ts', 'export const readPlan = 1;'],
  ['test support in a folder', 'src/cli/testing/b.ts', 'export const readPlan = 1;'],
  ['a file outside of src', 'sim/b.ts', 'export const readPlan = 1;'],
])('allows the name of an exported value for %s', (_, file, text) => {
  expect(faults({ 'src/core/a.ts': 'export const readPlan = 1;', [file]: text })).toEqual([]);
});

it('allows overloads', () => {
  expect(faults({ 'src/a.ts': 'export function f(a: 1): 1;\nexport function f(a: 2): 2;' })).toEqual([]);
});

it('allows the names that each store has, but only in the stores', () => {
  const text = 'export const SCHEMA_VERSION = 1;';
  expect(faults({ 'src/stores/redis/schema.ts': text, 'src/stores/mysql/schema.ts': text })).toEqual([]);
  expect(faults({ 'src/stores/redis/schema.ts': text, 'src/cli/a.ts': text })).toHaveLength(1);
});
