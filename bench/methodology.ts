import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { workspaceWithLog } from './methodology-log.js';

const run = promisify(execFile);
const EVENTS = 10_000;
const ROUNDS = 10;
const PROGRAM = new URL('../dist/cli/main.js', import.meta.url).pathname;

/** `gen status` in a workspace of ten thousand events, from the start of the process to its end. Needs `npm run build`. */
export async function methodology(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'bench-status-'));
  try {
    await workspaceWithLog(root, EVENTS);
    console.log(`\ngen status, ${EVENTS} events: ${await timed(root, [PROGRAM, 'status'])}`);
    console.log(`node alone: ${await timed(root, ['-e', '0'])}`);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function timed(cwd: string, argv: readonly string[]): Promise<string> {
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const began_ms = performance.now();
    await run(process.execPath, argv, { cwd, maxBuffer: 64 * 1024 * 1024 });
    taken.push(performance.now() - began_ms);
  }
  taken.sort((a, b) => a - b);
  const [best = 0] = taken;
  return `${best.toFixed(0)} ms at best, ${(taken[ROUNDS / 2] ?? 0).toFixed(0)} ms in the middle`;
}
