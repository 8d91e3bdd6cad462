import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { workspaceWithLog } from './methodology-log.js';
import { integerText, table } from './table.js';

const run = promisify(execFile);
export const EVENTS = 10_000;
const ROUNDS = 10;
const PRINT_CPU_TIME_IMPORT = `data:text/javascript,${encodeURIComponent(
  "process.on('exit',()=>{const{user,system}=process.cpuUsage();console.error('processor '+(user+system))})",
)}`;
const PROGRAM = new URL('../dist/cli/main.js', import.meta.url).pathname;

/** Measures `gen status` in a workspace of ten thousand events, from process start to exit. Needs `npm run build`. */
export async function benchMethodology(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'bench-status-'));
  try {
    const workspace = await workspaceWithLog(root, EVENTS);
    const rows = [['node alone', ...(await measureCommand(root, ['-e', '0']))]];
    rows.push(['gen status', ...(await measureCommand(root, [PROGRAM, 'status']))]);
    // Makes every file newer than the log without a change of its content, as `git clone` does.
    await touchAll(workspace.path('features/active'));
    rows.push(['gen status, every file just touched', ...(await measureCommand(root, [PROGRAM, 'status']))]);
    console.log(`\ngen status on ${EVENTS} events: milliseconds from start to exit, ${ROUNDS} runs\n`);
    console.log(table(['', 'best', 'median', 'CPU, best', 'CPU, median'], rows));
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function touchAll(folder: string): Promise<void> {
  const now = new Date();
  for (const name of await readdir(folder)) await utimes(join(folder, name), now, now);
}

async function measureCommand(cwd: string, argv: readonly string[]): Promise<string[]> {
  const wallMs: number[] = [];
  const cpuMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { wall_ms, cpu_ms } = await meterCommand(cwd, argv);
    wallMs.push(wall_ms);
    cpuMs.push(cpu_ms);
  }
  return [...bestAndMedian(wallMs), ...bestAndMedian(cpuMs)];
}

export interface CommandCost {
  readonly wall_ms: number;
  readonly cpu_ms: number;
}

/** Runs Node once, from start to exit. The process reports its own CPU time when it exits. */
export async function meterCommand(cwd: string, argv: readonly string[]): Promise<CommandCost> {
  const startMs = performance.now();
  const options = { cwd, maxBuffer: 64 * 1024 * 1024 };
  const { stderr } = await run(process.execPath, ['--import', PRINT_CPU_TIME_IMPORT, ...argv], options);
  const wall_ms = performance.now() - startMs;
  return { wall_ms, cpu_ms: Number(/processor (\d+)/.exec(stderr)?.[1]) / 1000 };
}

function bestAndMedian(durationsMs: number[]): string[] {
  durationsMs.sort((a, b) => a - b);
  return [durationsMs[0] ?? 0, durationsMs[Math.floor(durationsMs.length / 2)] ?? 0].map(integerText);
}
