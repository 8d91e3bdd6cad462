import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { RunCosts } from './rounds.js';

/** The same settings for both versions. */
const NODE_FLAGS = ['--max-semi-space-size=64', '--expose-gc', '--import', 'tsx'];

/** Runs one trial in its own process, which prints its costs as JSON. */
export async function runChild<Cost>(script: string, args: readonly string[]): Promise<RunCosts<Cost>> {
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, script, ...args]);
  return JSON.parse(stdout) as RunCosts<Cost>;
}
