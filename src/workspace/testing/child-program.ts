import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { build } from 'esbuild';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

/** A child process of a test that prints a line for every step. */
interface TestProcess {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly lines: AsyncIterable<string>;
  /** Its exit code or signal. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

const NODE_PATH = join(import.meta.dirname, '../../../node_modules');
/** CommonJS dependencies call `require` for built-in modules, which an ESM bundle lacks. */
const BANNER =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

/**
 * A program that a test file starts and kills. Bundled once, because loading TypeScript for every start would
 * dominate the run time.
 */
export function childProgram(source: string): (...args: string[]) => TestProcess {
  let bundles = '';
  beforeAll(async () => {
    bundles = await mkdtemp(join(tmpdir(), 'child-'));
    await build({
      entryPoints: [source],
      bundle: true,
      platform: 'node',
      format: 'esm',
      outExtension: { '.js': '.mjs' },
      outdir: bundles,
      banner: { js: BANNER },
    });
  });
  afterAll(() => rm(bundles, { recursive: true }));
  const script = basename(source).replace(/\.ts$/, '.mjs');
  return (...args) => startProcess([join(bundles, script), ...args]);
}

function startProcess(argv: readonly string[]): TestProcess {
  const child = spawn(process.execPath, argv, {
    stdio: ['pipe', 'pipe', 'inherit'],
    // The lock's native module cannot be bundled.
    env: { ...process.env, NODE_PATH },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  return { process: child, lines: createInterface({ input: child.stdout }), ended };
}
