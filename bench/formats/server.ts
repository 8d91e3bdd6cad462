import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('./server.child.ts', import.meta.url));

export interface MeasuredServer {
  readonly url: string;
  readonly pid: number;
  /** Runs `work`; returns its duration and the longest time the server's event loop was blocked meanwhile. */
  measure<T>(work: () => Promise<T>): Promise<{ result: T; wall_ms: number; blocked_ms: number }>;
  stop(): Promise<void>;
}

export async function startMeasuredServer(): Promise<MeasuredServer> {
  const child = fork(SCRIPT, [], {
    execArgv: ['--max-semi-space-size=64', '--import', 'tsx'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const nextMessage = async <T>(): Promise<T> => (await once(child, 'message'))[0] as T;
  const { url } = await nextMessage<{ url: string }>();
  const send = async (command: string): Promise<number> => {
    const reply = nextMessage<{ blocked_ms: number }>();
    child.send(command);
    return (await reply).blocked_ms;
  };
  return {
    url,
    pid: child.pid as number,
    async measure(work) {
      await send('reset');
      const startMs = performance.now();
      const result = await work();
      const wall_ms = performance.now() - startMs;
      return { result, wall_ms, blocked_ms: await send('blocked') };
    },
    async stop() {
      const ended = once(child, 'exit');
      child.send('stop');
      await ended;
    },
  };
}
