import { randomBytes } from 'node:crypto';
import { workerName } from '../../client/worker-name.js';

/** Names for `count` agents: `NAME-1`, `NAME-2`, … */
export const numberedNames = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);

/** Names that earlier fleets are unlikely to have: the program and a short random id, such as `claude-1a2b`. */
export function newNames(program: string, count: number): string[] {
  const names = new Set<string>();
  while (names.size < count) names.add(newName(program));
  return [...names];
}

/** A new name with characters that git allows in the name of a branch: not all characters of an agent id are. */
const newName = (program: string): string =>
  workerName(program, randomBytes(2).toString('hex')).replace(/[^A-Za-z0-9_-]+/g, '-');
