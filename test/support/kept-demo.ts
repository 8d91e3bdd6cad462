import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';

interface KeptDemo {
  readonly pageUrl: string;
  /** Resolves with the whole output when the demo has ended. Its server still runs then. */
  readonly ended: Promise<string>;
  /** Ends the demo and its server, and removes its data. */
  stop(): Promise<void>;
}

const PAGE_URL = /http:\/\/127\.0\.0\.1:\d+\/\?project=\S+/;

/** Starts `gen demo --keep` from source, as in a clean clone. */
export async function startKeptDemo(): Promise<KeptDemo> {
  const args = ['--import', 'tsx', 'src/cli/main.ts', 'demo', '--keep'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  const ended = once(child, 'close').then(() => output);
  const pageUrl = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [url] = PAGE_URL.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.on('exit', () => reject(new Error(`The demo printed no address: ${output}`)));
  });
  const stop = async (): Promise<void> => {
    // If the demo is still running, it stops its server and removes its data on SIGTERM. If it has ended, both were kept, and
    // are removed here.
    child.kill('SIGTERM');
    await ended;
    const [, pid, folder] = /kill (\d+)\)\. Its data is in (\S+)/.exec(output) ?? [];
    if (pid === undefined || folder === undefined) return;
    process.kill(Number(pid), 'SIGTERM');
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
  return { pageUrl, ended, stop };
}
