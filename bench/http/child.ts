import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('./worker.ts', import.meta.url));

/** Runs a part of the load in its own process, so that it shares no thread with what it measures. */
export function inOwnProcess<Result>(workload: string, input: object): Promise<Result> {
  const child = fork(SCRIPT, [workload], {
    execArgv: ['--max-semi-space-size=64', '--import', 'tsx'],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('message', (result) => resolve(result as Result));
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${workload} exited with code ${code} and no result`)));
    child.send(input);
  });
}
