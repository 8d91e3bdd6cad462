import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { Genesis } from '../../client/index.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import type { Io } from '../io.js';
import { cliFolder } from '../state/cli-folder.js';
import type { CliTarget } from '../state/cli-state.js';
import { SIGNING_KEY_VARIABLE, signingKeyFile } from '../state/signing-key.js';

/** Where work comes from, and the token for the server; null if none is set. */
export interface WorkTarget extends CliTarget {
  readonly token: string | null;
  /** Identifies the server in the outbox: its URL, or its workspace, whose server has another URL in each command. */
  readonly outbox_server: string;
}

/** The variable that passes `outbox_server` on to the workers of `gen fleet`. */
export const OUTBOX_SERVER_VARIABLE = 'GENESIS_OUTBOX_SERVER';

export async function workTargetOf(context: CommandContext): Promise<WorkTarget> {
  const { explicitUrl, io } = context;
  const workspace = explicitUrl === null ? Workspace.find(io.cwd) : null;
  const target = { ...(await context.target()), ...(await context.server()) };
  const server = workspace === null ? io.env[OUTBOX_SERVER_VARIABLE] : `workspace:${workspace.root}`;
  return { ...target, outbox_server: server || target.url };
}

/** Environment variables that make `gen` in a child process use the same server, project, folder and signing key. */
export const targetEnvironment = (
  io: Io,
  { url, tenant, project, token }: WorkTarget,
): Record<string, string> => ({
  GENESIS_URL: url,
  ...(token === null ? {} : { GENESIS_TOKEN: token }),
  GENESIS_TENANT: tenant,
  GENESIS_PROJECT: project,
  GENESIS_HOME: cliFolder(io),
  [SIGNING_KEY_VARIABLE]: signingKeyFile(io),
});

/**
 * A client with the SDK's default retries, and an outbox for finished results in the CLI's folder. `signingKey` is set if
 * the tenant requires signatures.
 */
export function workerGenesis(
  io: Io,
  { token, ...target }: WorkTarget,
  signingKey: KeyObject | undefined,
): Genesis {
  const outbox = join(cliFolder(io), 'outbox');
  const optional = withoutUndefined({ token: token ?? undefined, signing_key: signingKey });
  return new Genesis({ ...target, outbox, ...optional });
}
