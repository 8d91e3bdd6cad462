import type { Limits } from '../../core/claims/policy.js';
import { limitsBody } from '../../core/contract/settings.js';
import type { AuthOptions } from '../../server/auth/authenticator.js';
import { addressList } from '../../server/connection-limits.js';
import type { RunningServer, ServerOptions } from '../../server/server.js';
import type { OpenedStore } from '../../server/store-url.js';
import type { Workspace } from '../../workspace/workspace.js';
import { type AccessLog, openAccessLog } from '../access-log.js';
import { auditOptions } from '../audit/audit-options.js';
import { assertNotBehindAnchor } from '../audit/start-with-anchor.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { ignoreWarning, keyWarning, trackedWarning } from '../key-warnings.js';
import { collectOption, parsePort } from '../option-parsers.js';
import type { OptionsOf } from '../option-table.js';
import { waitForStop } from '../stop.js';
import { defaultStore, folderOfStore, workspaceOfStoreUrl } from '../store.js';
import { unusedStoreRemover } from '../unused-store.js';
import { webhookOptions } from '../webhook-options.js';

const UP_OPTIONS = {
  '--store <url>':
    'store URL (GENESIS_STORE): file:./dir, workspace:./project, postgres://…, mysql://…, redis://… and others (docs/stores.md)',
  '--port <n>': { about: 'port to listen on; 0 picks a free one', parse: parsePort, default: 4680 },
  '--host <address>': {
    about: 'address to listen on; all but loopback require keys or tokens',
    default: '127.0.0.1',
  },
  '--limit <name=value>': {
    about: 'default limit of every tenant, which an admin can change per tenant; repeatable',
    parse: collectOption,
  },
  '--jwks <file|url>': 'accept tokens signed by one of these keys',
  '--jwt-issuer <text>': 'required issuer of the tokens',
  '--jwt-audience <text>': 'required audience of the tokens',
  '--trusted-proxy <address>': {
    about: 'address or network of a proxy, which is exempt from the connection limit; repeatable',
    parse: collectOption,
  },
  '--anchor <file|url|store:url>':
    'checkpoints that are kept elsewhere: refuse to start if a log is behind them or differs from them (GENESIS_AUDIT_ANCHOR)',
  '--access-log <file>':
    'write a line of JSON per request to this file; - is standard error, off writes none (default: .genesis/access.log, rotated, as soon as keys or tokens are required)',
  '--metrics-prefix <text>': 'prefix of the names under /metrics (default: coditect_)',
} as const;
type UpOptions = OptionsOf<typeof UP_OPTIONS>;

export const upCommand = defineCommand('up', {
  description:
    'start the coordinator (default store: the log of this workspace, or else the local log under .genesis/)',
  options: UP_OPTIONS,
  help: '\nExamples:\n  gen up\n  gen up --port 0 --store memory: --json\n  gen up --limit min_lease_duration_seconds=1',
  run: up,
});

/**
 * Node's flag for the size of the heap space for new objects, in MB. Requests in flight keep their objects alive for some
 * milliseconds; with the default of 16 MB the garbage collector copies most of these objects before they are garbage.
 */
const NEW_OBJECT_SPACE_FLAG = '--max-semi-space-size=32';

async function up(context: CommandContext, options: UpOptions): Promise<void> {
  context.io.restartWith?.(NEW_OBJECT_SPACE_FLAG);
  const stopRequested = waitForStop(context.io);
  const url = options.store ?? defaultStore(context.io);
  const workspace = workspaceOfStoreUrl(context.io, url);
  const settings = settingsOf(options);
  const accessLog = await openAccessLog(context, options.accessLog);
  const target = { url, workspace, anchor: options.anchor };
  const { server, opened } = await start(context, target, { ...settings, ...accessLog.options });
  const inboxService = await startServices(context, { server, opened, workspace, accessLog, url }).catch(
    async (error) => {
      // Stop the server: no client may reach it before it is ready, and the store must be unlocked again.
      await server.stop();
      await accessLog.close();
      throw error;
    },
  );
  const stopReason = await Promise.race([
    stopRequested,
    opened.store.broken ?? stopRequested,
    inboxService?.failed ?? stopRequested,
  ]).catch((error: Error) => error);
  context.printNotice('Stopping after all accepted requests are answered.');
  try {
    await inboxService?.stop();
  } finally {
    // If the log is damaged, stopping the inboxes fails; the port and the lock are released nevertheless.
    await server.stop();
    await accessLog.close();
  }
  // Fail, so that a supervisor restarts the server. The new server opens the store again; if the store has lost history, that
  // server refuses the handles from before.
  if (stopReason instanceof Error) throw new CommandFailure(stopReason.message);
}

/** The settings of the server that depend on the options only. They are checked before anything is opened. */
function settingsOf(options: UpOptions) {
  const { host, port } = options;
  return {
    host,
    port,
    limits: limitsOf(options.limit ?? []),
    auth: authOf(options),
    trusted_proxies: proxiesOf(options.trustedProxy ?? []),
    ...metricsOf(options.metricsPrefix),
  };
}

type UpSettings = ReturnType<typeof settingsOf> & AccessLog['options'];

interface UpTarget {
  readonly url: string;
  readonly workspace: Workspace | null;
  readonly anchor: string | undefined;
}

/** Opens the store and starts the server on it. A failed start closes the store, and removes it if it is new and empty. */
async function start(context: CommandContext, { url, workspace, anchor }: UpTarget, settings: UpSettings) {
  // Imported lazily, to keep --help fast.
  const { startServer } = await import('../../server/server.js');
  const { openStoreUrl } = await import('../../server/store-url.js');
  const folder = folderOfStore(context.io, url);
  const removeUnusedStore = unusedStoreRemover(folder);
  const opened = await openStoreUrl(url, context.warn, context.io.env.GENESIS_BLOBS);
  try {
    if (folder !== null) context.warnAll(await trackedWarning(context.io, folder));
    if (workspace !== null) context.warnAll(await ignoreWarning(workspace));
    const audit = await auditOptions(context);
    const webhooks = await webhookOptions(context);
    await assertNotBehindAnchor(context, opened.store, anchor);
    const server = await startServer({ ...opened, ...settings, ...audit, ...webhooks });
    return { server, opened };
  } catch (error) {
    await opened.store.close();
    await removeUnusedStore();
    return throwStartFailure(error as NodeJS.ErrnoException, settings);
  }
}

interface StartedServer {
  readonly server: RunningServer;
  readonly opened: OpenedStore;
  readonly workspace: Workspace | null;
  readonly accessLog: AccessLog;
  readonly url: string;
}

/** Starts what runs beside the server, and prints its address. Resolves to the inbox service; null without a workspace. */
async function startServices(
  context: CommandContext,
  { server, opened, workspace, accessLog, url }: StartedServer,
) {
  const { withoutPassword } = await import('../../server/store-url.js');
  const storeName = withoutPassword(url);
  if (!server.isInOpenMode) await accessLog.open();
  const service = workspace === null ? null : await startWorkspaceService(context, workspace, server, opened);
  context.warnAll(await keyWarning(server.coordinator, storeName));
  printAddress(context, server, storeName);
  return service;
}

/** Starts the inbox service: in a workspace the server also processes the inboxes. */
async function startWorkspaceService(
  context: CommandContext,
  workspace: Workspace,
  { coordinator, url }: RunningServer,
  opened: OpenedStore,
) {
  const { startInboxService } = await import('../workspace/inbox-service.js');
  return startInboxService(context, workspace, { ...opened, coordinator, url });
}

function authOf({ jwks, jwtIssuer: issuer, jwtAudience: audience }: UpOptions): AuthOptions {
  if (jwks === undefined && issuer === undefined && audience === undefined) return {};
  if (jwks === undefined || issuer === undefined || audience === undefined) {
    throw wrongUsage('Token authentication requires all of --jwks, --jwt-issuer and --jwt-audience.');
  }
  return { jwt: { jwks, issuer, audience } };
}

function metricsOf(metrics_prefix: string | undefined): Pick<ServerOptions, 'metrics_prefix'> {
  if (metrics_prefix === undefined) return {};
  if (/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(metrics_prefix)) return { metrics_prefix };
  throw wrongUsage('--metrics-prefix: expected at most 64 letters, digits and _, not starting with a digit.');
}

function proxiesOf(addresses: readonly string[]): readonly string[] {
  try {
    addressList(addresses);
    return addresses;
  } catch (error) {
    throw wrongUsage(`--trusted-proxy: ${(error as Error).message}`);
  }
}

function printAddress(
  context: CommandContext,
  { url, port, isInOpenMode: open }: RunningServer,
  store: string,
): void {
  context.printReply({ url, port, open, store, pid: process.pid }, () => [
    `Genesis Fleet is listening at ${context.paint.bold(url)}`,
    `Store: ${store}`,
    open
      ? 'No authentication: every client has full access. To require keys, create the first: gen key create --role admin'
      : 'Authentication: clients need a key or a token.',
  ]);
}

function limitsOf(assignments: readonly string[]): Partial<Limits> {
  const entries = assignments.map((text): [string, unknown] => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) throw wrongUsage(`--limit ${text}: expected NAME=VALUE.`);
    if (!/^(0|[1-9]\d*|true|false)$/.test(value)) {
      throw wrongUsage(`--limit NAME=VALUE: VALUE must be a whole number, true or false: ${text}`);
    }
    return [name, JSON.parse(value)];
  });
  const schema = limitsBody.omit({ request_id: true, signature: true });
  const parsed = schema.safeParse(Object.fromEntries(entries));
  if (parsed.success) return parsed.data as Partial<Limits>;
  const names = Object.keys(schema.shape);
  const issue = parsed.error.issues[0];
  throw wrongUsage(
    `--limit ${issue?.path.join('.') ?? ''}: ${issue?.message}. The limits are ${names.join(', ')}.`,
  );
}

function throwStartFailure(error: NodeJS.ErrnoException, { host, port }: UpSettings): never {
  if (error.code === 'EADDRINUSE') {
    throw new CommandFailure(
      `Port ${port} of ${host} is in use. Pass --port N for another port, or --port 0 for a free one.`,
    );
  }
  if (error.code === 'EACCES' || error.code === 'EADDRNOTAVAIL') {
    throw new CommandFailure(
      `Cannot listen at ${host}:${port} (${error.code}). Pass another address with --host and --port.`,
    );
  }
  throw error;
}
