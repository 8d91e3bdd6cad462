import { join } from 'node:path';
import { Genesis } from '../../client/index.js';
import type { Io } from '../io.js';
import { cliFolder } from '../state/cli-folder.js';
import type { CliTarget } from '../state/cli-state.js';

/** Where work comes from, and the server's token; null if it needs none. */
export interface WorkTarget extends CliTarget {
  readonly token: string | null;
}

/** Environment variables that make `gen` in a child process use the same server, project and folder. */
export const targetEnvironment = (
  io: Io,
  { url, tenant, project, token }: WorkTarget,
): Record<string, string> => ({
  GENESIS_URL: url,
  ...(token === null ? {} : { GENESIS_TOKEN: token }),
  GENESIS_TENANT: tenant,
  GENESIS_PROJECT: project,
  GENESIS_HOME: cliFolder(io),
});

/** A client with the SDK's default retries, and an outbox for finished results in the CLI's folder. */
export function workerGenesis(io: Io, { token, ...target }: WorkTarget): Genesis {
  const outbox = join(cliFolder(io), 'outbox');
  return new Genesis({ ...target, outbox, ...(token === null ? {} : { token }) });
}
