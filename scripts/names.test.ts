import { expect, it } from 'vitest';
import { nameFaults } from './names.js';

const messages = (...texts: string[]): string[] =>
  nameFaults(texts.map((text, index) => ({ file: `${index}.ts`, text }))).map(({ message }) => message);

it('refuses a type with the name of a type that another file exports', () => {
  const fault = ['the type Part is also exported by 0.ts'];
  expect(messages('export interface Part {}', 'export type Part = 1;')).toEqual(fault);
  expect(messages('export interface Part {}', 'type Part = 1;')).toEqual(fault);
  expect(messages('export interface Part {}', 'function f() { type Part = 1; }')).toEqual(fault);
  expect(messages('type Part = 1;', 'export class Part {}')).toEqual([
    'the type Part is also exported by 1.ts',
  ]);
  expect(messages('type Part = 1;', 'interface Part {}')).toEqual([]);
});

it.each([
  'const lease_ms = 1;',
  'function f(lease_ms: number) {}',
  'class A { private lease_ms = 1; }',
  'class A { #lease_ms = 1; }',
  'class A { constructor(private readonly lease_ms: number) {} }',
  'const { lease: lease_ms } = record;',
])('refuses snake_case in %s', (text) => {
  expect(messages(text)).toEqual([expect.stringContaining('camelCase')]);
});

it.each([
  'const { lease_ms } = record;',
  'const lease_ms = 1; export const record = { lease_ms };',
  'interface Row { lease_ms: number }',
  'class A { readonly lease_ms = 1; }',
])('allows the snake_case of records in %s', (text) => {
  expect(messages(text)).toEqual([]);
});

it('refuses a retired name and suggests a replacement', () => {
  expect(messages('class Desk {}')).toEqual(['Desk is a retired name: use DecisionView']);
  expect(messages('interface Row { desk: string }')).toEqual([]);
});

it.each([
  ['function newJudge() {}', 'newJudge contains a retired name: use checker'],
  ['interface AskedTask {}', 'AskedTask contains a retired name: use query, request, or what it holds'],
  ['class ClaimDesk {}', 'ClaimDesk contains a retired name: use view'],
  ['interface Row { readonly deskOf: string }', 'deskOf contains a retired name: use view'],
  ['const openStory = () => {};', 'openStory contains a retired name: use log, history or timeline'],
])('refuses a retired word within %s', (text, message) => {
  expect(messages(text)).toEqual([message]);
});

it.each([
  'function askModel() {}',
  'type AskModel = () => void;',
  'const hasAskedIn = true;',
  'class RunSlot {}',
  'const ASKED_MAX = 1;',
  'interface HistoryPage {}',
])('allows an ordinary word within %s', (text) => {
  expect(messages(text)).toEqual([]);
});

it('reads the components of the dashboard', () => {
  const text =
    'export const View = () => <p>{asked}</p>;\nfunction Replied({ asked }: Props) { return <b />; }';
  expect(nameFaults([{ file: 'view.tsx', text }]).map(({ message }) => message)).toEqual([
    'asked is a retired name: use query, request, or what it holds',
  ]);
});

it.each([
  'const { house } = open();',
  'const { house: harness } = open();',
  'const fixture = { house: open() };',
  'interface Fixture { house: object }',
])('refuses a retired name also as a field if no record has such a field: %s', (text) => {
  expect(messages(text)).toEqual(['house is a retired name: use harness']);
});

it('refuses a schema of the contract that is not named as its type', () => {
  const faultsIn = (text: string) =>
    nameFaults([{ file: 'src/core/contract/claims.ts', text }]).map(({ message }) => message);
  expect(faultsIn('type TaskClaim = ReplyOf<typeof claimRecord>;')).toEqual([
    'the schema of TaskClaim is called claimRecord: call it taskClaim',
  ]);
  expect(faultsIn('type TaskClaim = ReplyOf<typeof taskClaim>;')).toEqual([]);
  expect(messages('type TaskClaim = ReplyOf<typeof claimRecord>;')).toEqual([]);
});
