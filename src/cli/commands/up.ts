import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { limitsBody } from '../../coordinator/wire.js';
import type { Limits } from '../../core/claims/policy.js';
import type { AuthOptions } from '../../server/auth/options.js';
import type { RunningServer, ServerOptions } from '../../server/server.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { plainText } from '../output/text.js';
import { gather, wholeNumber } from '../read-options.js';
import { askedToStop } from '../stop.js';
import { defaultStore, workspaceOf } from '../store.js';
import type { AttendedHouse, Attending } from '../workspace/attend.js';

interface UpOptions {
  readonly store?: string;
  readonly host: string;
  readonly port: number;
  readonly limit?: readonly string[];
  readonly jwks?: string;
  readonly jwtIssuer?: string;
  readonly jwtAudience?: string;
  readonly accessLog?: string;
  readonly metricsPrefix?: string;
}

const DEFAULT_PORT = 4680;

export const addUp: AddCommands = (program, act) => {
  program
    .command('up')
    .description(
      'run the coordinator: in a workspace on its own log, elsewhere on the embedded log under .genesis/, unless told otherwise',
    )
    .option(
      '--store <url>',
      'where everything is kept (GENESIS_STORE): file:./dir, workspace:./project, postgres://…, mysql://…, redis://…, dynamodb://region/prefix, routes:./tenants.yml or memory:',
    )
    .option('--port <n>', 'the port; 0 picks a free one', wholeNumber, DEFAULT_PORT)
    .option('--host <address>', 'the address; any but loopback needs keys or tokens', '127.0.0.1')
    .option(
      '--limit <name=value>',
      'what a tenant may do until an admin says otherwise; may be repeated',
      gather,
    )
    .option('--jwks <file|url>', 'let in whoever has a token signed by one of these keys')
    .option('--jwt-issuer <text>', 'who must have issued such a token')
    .option('--jwt-audience <text>', 'whom it must have been issued for')
    .option('--access-log <file>', 'a line of JSON for every request; - writes to standard error')
    .option('--metrics-prefix <text>', 'what the names under /metrics begin with (default: coditect_)')
    .addHelpText(
      'after',
      '\nExamples:\n  gen up\n  gen up --port 0 --store memory: --json\n  gen up --limit min_lease_duration_seconds=1',
    )
    .action(act(up));
};

async function up(context: Context, options: UpOptions): Promise<void> {
  const stopped = askedToStop(context.io);
  const limits = limitsOf(options.limit ?? []);
  const auth = authOf(options);
  const naming = metricsOf(options.metricsPrefix);
  const url = options.store ?? defaultStore(context.io);
  // Loaded here alone: no other command has to wait for it.
  const { startServer } = await import('../../server/server.js');
  const { openStoreUrl, withoutPassword } = await import('../../server/store-url.js');
  const warn = (sentence: string) => context.remark(plainText(sentence));
  const { store, blobs } = await openStoreUrl(url, warn, context.io.env.GENESIS_BLOBS);
  const { host, port } = options;
  const log = await logTo(context, options.accessLog);
  const server = await startServer({ store, blobs, host, port, limits, auth, ...naming, ...log }).catch(
    (error) => startFailure(error, options),
  );
  const attending = await attendTo(context, url, {
    store,
    blobs,
    coordinator: server.coordinator,
    url: server.url,
  });
  tellAddress(context, server, withoutPassword(url));
  const why = await Promise.race([stopped, store.finished ?? stopped, attending?.failed ?? stopped]);
  context.remark('Stopping: what was accepted is answered first.');
  await attending?.stop();
  await server.stop();
  // Whoever keeps it running starts it again: on a store that lost history, with handles that are refused.
  if (why instanceof Error) throw new CommandFailure(why.message);
}

/** In a workspace the server does more than answer: it serves the inboxes, too. */
async function attendTo(context: Context, url: string, house: AttendedHouse): Promise<Attending | null> {
  const workspace = workspaceOf(context.io, url);
  if (workspace === null) return null;
  const { attend } = await import('../workspace/attend.js');
  return attend(context, workspace, house);
}

function authOf({ jwks, jwtIssuer: issuer, jwtAudience: audience }: UpOptions): AuthOptions {
  if (jwks === undefined && issuer === undefined && audience === undefined) return {};
  if (jwks === undefined || issuer === undefined || audience === undefined) {
    throw wrongUsage('Tokens need all three: --jwks, --jwt-issuer and --jwt-audience.');
  }
  return { jwt: { jwks, issuer, audience } };
}

function metricsOf(metrics_prefix: string | undefined): Pick<ServerOptions, 'metrics_prefix'> {
  if (metrics_prefix === undefined) return {};
  if (/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(metrics_prefix)) return { metrics_prefix };
  throw wrongUsage('--metrics-prefix: expected letters, digits and _, at most 64, the first no digit.');
}

async function logTo({ io }: Context, file: string | undefined): Promise<Pick<ServerOptions, 'log'>> {
  if (file === undefined) return {};
  const { linesTo } = await import('../../server/auth/access-log.js');
  return {
    log: linesTo(
      file === '-' ? io.stderr : createWriteStream(resolve(io.cwd, file), { flags: 'a', mode: 0o600 }),
    ),
  };
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
  const named = given.map((text): [string, unknown] => {
    const [name = '', value = ''] = text.split('=', 2);
    if (!/^(\d+|true|false)$/.test(value)) throw wrongUsage(`--limit ${text}: expected NAME=VALUE.`);
    return [name, JSON.parse(value)];
  });
  const read = limitsBody.omit({ request_id: true, signature: true }).safeParse(Object.fromEntries(named));
  if (read.success) return read.data as Partial<Limits>;
  const names = Object.keys(limitsBody.shape).filter((name) => name !== 'request_id' && name !== 'signature');
  const issue = read.error.issues[0];
  throw wrongUsage(
    `--limit ${issue?.path.join('.') ?? ''}: ${issue?.message}. The limits are ${names.join(', ')}.`,
  );
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
