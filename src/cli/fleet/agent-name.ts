import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import { KIND_NAME_PATTERN } from './fleet-file.js';

/** Names for `count` agents: `NAME-1`, `NAME-2`, … */
export const numberedNames = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);

/** Names that no earlier fleet has: the program and a short id, such as `claude-1a2b`. */
export function newNames(program: string, count: number): string[] {
  const name = programName(program);
  const names = new Set<string>();
  while (names.size < count) names.add(`${name}-${randomBytes(2).toString('hex')}`);
  return [...names];
}

function programName(program: string): string {
  const name = basename(program)
    .replace(/\.[A-Za-z]+$/, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, 60);
  return KIND_NAME_PATTERN.test(name) ? name : 'agent';
}
