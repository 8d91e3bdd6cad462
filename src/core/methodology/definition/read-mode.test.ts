import { expect, it } from 'vitest';
import { isCoordinationFile } from './read/file-kinds.js';
import { isSingleAgentMode } from './read-mode.js';

const SINGLE = 'coordination: {mode: single}\n';
const textsOf = (files: Record<string, string>, unreadable: Record<string, string> = {}) => ({
  files: new Map(Object.entries(files)),
  unreadable: new Map(Object.entries(unreadable)),
});

it.each([
  ['a workspace without a coordination file', textsOf({}), false],
  ['a coordination file with mode single', textsOf({ 'coordination.yml': SINGLE }), true],
  ['a file in config/', textsOf({ 'config/coordination.yml': SINGLE }), true],
  [
    'the file that takes precedence',
    textsOf({ 'coordination.yml': '', 'config/coordination.yml': SINGLE }),
    false,
  ],
  ['a faulty file', textsOf({ 'coordination.yml': 'coordination: {mode: si' }), false],
  ['a file that cannot be read', textsOf({}, { 'coordination.yml': 'no access' }), false],
  ['another file', textsOf({ 'agent_roles.yml': SINGLE }), false],
])('finds the mode for %s', (_, texts, isSingle) => {
  expect(isSingleAgentMode(texts)).toBe(isSingle);
});

it('recognizes the coordination file, which alone decides about the mode', () => {
  const paths = ['coordination.yml', 'config/coordination.yaml', 'agent_roles.yml', 'x/coordination.yml'];
  expect(paths.filter(isCoordinationFile)).toEqual(paths.slice(0, 2));
});
