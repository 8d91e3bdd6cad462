import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { RunCosts } from './rounds.js';

/** The flags of Node, the same for both versions. */
export const NODE_FLAGS = ['--max-semi-space-size=64', '--expose-gc', '--import', 'tsx'];

/** Runs a script in its own process. The script prints its result as JSON. */
export async function runChildOnce<Result>(script: string, args: readonly string[]): Promise<Result> {
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, script, ...args]);
  return JSON.parse(stdout) as Result;
}

/** Runs one trial in its own process. The trial prints its costs as JSON. */
export const runChild = <Cost>(script: string, args: readonly string[]): Promise<RunCosts<Cost>> =>
  runChildOnce<RunCosts<Cost>>(script, args);
