import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { newTempFolder } from '../harness.js';

interface PageServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts `gen up` in its own process, on a file store in a temporary folder. */
export async function startPageServer(): Promise<PageServer> {
  const folder = await newTempFolder();
  const args = ['up', '--store', `file:${join(folder, 'log')}`, '--port', '0', '--json'];
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  process.once('exit', () => child.kill());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  let output = '';
  for await (const line of createInterface({ input: child.stdout })) {
    output += line;
    if (line.endsWith('}')) break;
  }
  if (output === '') throw new Error('gen up exited before it printed its address.');
  const { url } = JSON.parse(output) as { url: string };
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
