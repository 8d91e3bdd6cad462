import { limitsBody } from '../../coordinator/wire.js';
import type { Limits } from '../../core/claims/policy.js';
import { type RunningServer, startServer } from '../../server/server.js';
import { openStoreUrl } from '../../server/store-url.js';
import { StoreUnavailable } from '../../stores/store.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { plainText } from '../output/text.js';
import { gather, wholeNumber } from '../read-options.js';
import { askedToStop } from '../stop.js';
import { defaultStore } from '../store.js';

interface UpOptions {
  readonly store?: string;
  readonly host: string;
  readonly port: number;
  readonly limit?: readonly string[];
}

const DEFAULT_PORT = 4680;

export const addUp: AddCommands = (program, act) => {
  program
    .command('up')
    .description('run the coordinator, on the embedded log under .genesis/ unless told otherwise')
    .option('--store <url>', 'where everything is kept (GENESIS_STORE): file:./dir or memory:')
    .option('--port <n>', 'the port; 0 picks a free one', wholeNumber, DEFAULT_PORT)
    .option('--host <address>', 'the address; any but loopback needs keys or tokens', '127.0.0.1')
    .option(
      '--limit <name=value>',
      'what a tenant may do until an admin says otherwise; may be repeated',
      gather,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  gen up\n  gen up --port 0 --store memory: --json\n  gen up --limit min_lease_duration_seconds=1',
    )
    .action(act(up));
};

async function up(context: Context, options: UpOptions): Promise<void> {
  const limits = limitsOf(options.limit ?? []);
  const url = options.store ?? defaultStore(context.io);
  const { store, blobs } = await openStoreUrl(url, (sentence) => context.remark(plainText(sentence))).catch(
    storeFailure,
  );
  const { host, port } = options;
  const server = await startServer({ store, blobs, host, port, limits }).catch((error) =>
    startFailure(error, options),
  );
  const stopped = askedToStop(context.io);
  tellAddress(context, server, url);
  await stopped;
  context.remark('Stopping: what was accepted is answered first.');
  await server.stop();
}

function tellAddress(context: Context, { url, port, open }: RunningServer, store: string): void {
  context.show({ url, port, open, store, pid: process.pid }, () =>
    [
      `Genesis Fleet listens at ${context.paint.bold(url)}`,
      `It keeps everything in ${store}`,
      open
        ? 'It is open: whoever reaches this address may do everything. The first key closes it: gen key create --role admin'
        : 'Whoever comes needs a key or a token.',
    ].join('\n'),
  );
}

function limitsOf(given: readonly string[]): Partial<Limits> {
  const named = given.map((text): [string, number] => {
    const [name = '', value = ''] = text.split('=', 2);
    if (!/^\d+$/.test(value))
      throw wrongUsage(`--limit ${text}: expected NAME=VALUE, where the value is a whole number.`);
    return [name, Number(value)];
  });
  const read = limitsBody.omit({ request_id: true, signature: true }).safeParse(Object.fromEntries(named));
  if (read.success) return read.data as Partial<Limits>;
  const names = Object.keys(limitsBody.shape).filter((name) => name !== 'request_id' && name !== 'signature');
  const issue = read.error.issues[0];
  throw wrongUsage(
    `--limit ${issue?.path.join('.') ?? ''}: ${issue?.message}. The limits are ${names.join(', ')}.`,
  );
}

function storeFailure(error: unknown): never {
  if (error instanceof StoreUnavailable || error instanceof Error) throw new CommandFailure(error.message);
  throw error;
}

function startFailure(error: NodeJS.ErrnoException, { host, port }: UpOptions): never {
  if (error.code === 'EADDRINUSE') {
    throw new CommandFailure(
      `Somebody listens at ${host}:${port} already. Say --port N for another port, or --port 0 for a free one.`,
    );
  }
  if (error.code === 'EACCES' || error.code === 'EADDRNOTAVAIL') {
    throw new CommandFailure(
      `${host}:${port} cannot be listened at (${error.code}). Say another with --host and --port.`,
    );
  }
  throw error;
}
