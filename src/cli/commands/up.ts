import { resolve } from 'node:path';
import { limitsBody } from '../../coordinator/wire/index.js';
import type { Limits } from '../../core/claims/policy.js';
import type { AuthOptions } from '../../server/auth/options.js';
import { addressList } from '../../server/connection-limits.js';
import type { ServerLogOptions } from '../../server/log/logs.js';
import type { RunningServer, ServerOptions } from '../../server/server.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { ignoreWarning, keyWarning, trackedWarning } from '../key-warnings.js';
import { collectOption, parseWholeNumber } from '../option-parsers.js';
import { singleLine } from '../output/text.js';
import { waitForStop } from '../stop.js';
import { defaultStore, folderOfStore, workspaceOf } from '../store.js';
import type { InboxService, WorkspaceServer } from '../workspace/inbox-service.js';

interface UpOptions {
  readonly store?: string;
  readonly host: string;
  readonly port: number;
  readonly limit?: readonly string[];
  readonly jwks?: string;
  readonly jwtIssuer?: string;
  readonly jwtAudience?: string;
  readonly trustedProxy?: readonly string[];
  readonly accessLog?: string;
  readonly metricsPrefix?: string;
}

const DEFAULT_PORT = 4680;

export const addUp: AddCommands = (program, wrapAction) => {
  program
    .command('up')
    .description(
      'run the coordinator: in a workspace on its own log, elsewhere on the embedded log under .genesis/, unless told otherwise',
    )
    .option(
      '--store <url>',
      'where everything is kept (GENESIS_STORE): file:./dir, workspace:./project, postgres://…, mysql://…, redis://…, dynamodb://region/prefix, routes:./tenants.yml or memory:',
    )
    .option('--port <n>', 'the port; 0 picks a free one', parseWholeNumber, DEFAULT_PORT)
    .option('--host <address>', 'the address; any but loopback needs keys or tokens', '127.0.0.1')
    .option(
      '--limit <name=value>',
      'what a tenant may do until an admin says otherwise; may be repeated',
      collectOption,
    )
    .option('--jwks <file|url>', 'let in whoever has a token signed by one of these keys')
    .option('--jwt-issuer <text>', 'who must have issued such a token')
    .option('--jwt-audience <text>', 'whom it must have been issued for')
    .option(
      '--trusted-proxy <address>',
      'an address or network of a proxy, which may have any number of connections; may be repeated',
      collectOption,
    )
    .option('--access-log <file>', 'a line of JSON for every request; - writes to standard error')
    .option('--metrics-prefix <text>', 'what the names under /metrics begin with (default: coditect_)')
    .addHelpText(
      'after',
      '\nExamples:\n  gen up\n  gen up --port 0 --store memory: --json\n  gen up --limit min_lease_duration_seconds=1',
    )
    .action(wrapAction(up));
};

async function up(context: CommandContext, options: UpOptions): Promise<void> {
  const stopRequested = waitForStop(context.io);
  const limits = limitsOf(options.limit ?? []);
  const auth = authOf(options);
  const metricsOptions = metricsOf(options.metricsPrefix);
  const trusted_proxies = proxiesOf(options.trustedProxy ?? []);
  const url = options.store ?? defaultStore(context.io);
  const log = await openAccessLog(context, options.accessLog);
  // Lazy import: other commands do not pay its load time.
  const { startServer } = await import('../../server/server.js');
  const { openStoreUrl, withoutPassword } = await import('../../server/store-url.js');
  const warn = (sentence: string) => context.printNotice(singleLine(sentence));
  const { store, blobs } = await openStoreUrl(url, warn, context.io.env.GENESIS_BLOBS);
  const { host, port } = options;
  await warnAboutSecretFiles(context, url);
  const settings = { host, port, limits, auth, trusted_proxies, ...metricsOptions, ...log.options };
  const server = await startServer({ store, blobs, ...settings }).catch((error) =>
    throwStartFailure(error, options),
  );
  const inboxService = await startInboxServiceIfWorkspace(context, url, {
    store,
    blobs,
    coordinator: server.coordinator,
    url: server.url,
  });
  for (const line of await keyWarning(server.coordinator, withoutPassword(url)))
    context.printNotice(singleLine(line));
  printAddress(context, server, withoutPassword(url));
  const stopReason = await Promise.race([
    stopRequested,
    store.finished ?? stopRequested,
    inboxService?.failed ?? stopRequested,
  ]);
  context.printNotice('Stopping: what was accepted is answered first.');
  await inboxService?.stop();
  await server.stop();
  await log.close();
  // Fail so that a supervisor restarts the server: it then reopens a store that lost history, and refuses old
  // handles.
  if (stopReason instanceof Error) throw new CommandFailure(stopReason.message);
}

/** Warns about secret files of the store that git tracks or would add. */
async function warnAboutSecretFiles(context: CommandContext, url: string): Promise<void> {
  const { io } = context;
  const workspace = workspaceOf(io, url);
  const folder = folderOfStore(io, url);
  const lines = [
    ...(folder === null ? [] : await trackedWarning(io, folder)),
    ...(workspace === null ? [] : await ignoreWarning(workspace)),
  ];
  for (const line of lines) context.printNotice(singleLine(line));
}

/** In a workspace the server also processes the inboxes. */
async function startInboxServiceIfWorkspace(
  context: CommandContext,
  url: string,
  server: WorkspaceServer,
): Promise<InboxService | null> {
  const workspace = workspaceOf(context.io, url);
  if (workspace === null) return null;
  const { startInboxService } = await import('../workspace/inbox-service.js');
  return startInboxService(context, workspace, server);
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

function proxiesOf(addresses: readonly string[]): readonly string[] {
  try {
    addressList(addresses);
    return addresses;
  } catch (error) {
    throw wrongUsage(`--trusted-proxy: ${(error as Error).message}`);
  }
}

interface AccessLog {
  readonly options: ServerLogOptions;
  close(): Promise<void>;
}

/**
 * Opens the access log before the store, so that an unwritable path fails early. Lines lost later are reported and
 * counted.
 */
async function openAccessLog(context: CommandContext, file: string | undefined): Promise<AccessLog> {
  if (file === undefined) return { options: {}, close: async () => {} };
  const { jsonLineSink } = await import('../../server/auth/access-log.js');
  const { openLogFile, standardErrorLog } = await import('../../server/log/log-file.js');
  const warnOfLoss = ({ code }: NodeJS.ErrnoException): void =>
    context.printNotice(`The access log ${file} cannot be written (${code}): lines are lost until it can.`);
  const isStandardError = file === '-';
  const { writer: lines, close } = isStandardError
    ? standardErrorLog()
    : await openLogFile(resolve(context.io.cwd, file), warnOfLoss).catch((error) =>
        throwUnwritable(file, error),
      );
  const log = jsonLineSink(lines);
  const errors = isStandardError ? { errorLog: log } : {};
  return { options: { log, ...errors, lostLogLines: () => lines.lost_lines }, close };
}

function throwUnwritable(file: string, { code }: NodeJS.ErrnoException): never {
  throw wrongUsage(
    `--access-log ${file}: this path cannot be written (${code}). Name a file in a folder that exists and that ` +
      'this user may write to, or a pipe that somebody reads; - is standard error.',
  );
}

function printAddress(
  context: CommandContext,
  { url, port, isOpen: open }: RunningServer,
  store: string,
): void {
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
  const parsed = limitsBody.omit({ request_id: true, signature: true }).safeParse(Object.fromEntries(named));
  if (parsed.success) return parsed.data as Partial<Limits>;
  const names = Object.keys(limitsBody.shape).filter((name) => name !== 'request_id' && name !== 'signature');
  const issue = parsed.error.issues[0];
  throw wrongUsage(
    `--limit ${issue?.path.join('.') ?? ''}: ${issue?.message}. The limits are ${names.join(', ')}.`,
  );
}

function throwStartFailure(error: NodeJS.ErrnoException, { host, port }: UpOptions): never {
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
