import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('./server.child.ts', import.meta.url));

export interface MeasuredServer {
  readonly url: string;
  readonly pid: number;
  /** What `work` took, and the longest time that the server answered nobody meanwhile. */
  measure<T>(work: () => Promise<T>): Promise<{ result: T; wall_ms: number; held_ms: number }>;
  stop(): Promise<void>;
}

export async function startMeasured(): Promise<MeasuredServer> {
  const child = fork(SCRIPT, [], {
    execArgv: ['--max-semi-space-size=64', '--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const told = async <T>(): Promise<T> => (await once(child, 'message'))[0] as T;
  const { url } = await told<{ url: string }>();
  const ask = async (word: string): Promise<number> => {
    const answer = told<{ held_ms: number }>();
    child.send(word);
    return (await answer).held_ms;
  };
  return {
    url,
    pid: child.pid as number,
    async measure(work) {
      await ask('reset');
      const began_ms = performance.now();
      const result = await work();
      const wall_ms = performance.now() - began_ms;
      return { result, wall_ms, held_ms: await ask('held') };
    },
    async stop() {
      const ended = once(child, 'exit');
      child.send('stop');
      await ended;
    },
  };
}
