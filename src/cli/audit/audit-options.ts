import { join } from 'node:path';
import type { AuditSink } from '../../coordinator/audit/sink.js';
import type { ServerOptions } from '../../server/server.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import type { Io } from '../io.js';
import { auditKeySetting } from '../state/audit-key-setting.js';
import { userFolder } from '../state/user-folder.js';

/**
 * The audit key and the sinks of a server; the key is created if it does not exist. Without a key the server still runs: no
 * work may be lost because a folder cannot be written.
 */
export async function auditOptions(context: CommandContext): Promise<Pick<ServerOptions, 'audit'>> {
  const { io } = context;
  const { openSigner } = await import('../../server/audit/open-signer.js');
  const sinks = await sinksOf(io);
  const key = auditKeySetting(io);
  try {
    const opened = await openSigner(key, io.env.GENESIS_AUDIT_PREVIOUS_KEY ?? '', io.cwd);
    if (opened.isNew)
      context.printNotice(`Created the key that signs checkpoints of the log: ${key}. Keep a backup of it.`);
    const { signer, previousSigners } = opened;
    return { audit: { signer, previousSigners, sinks, warn: context.warn } };
  } catch (error) {
    context.warn(`No checkpoints of the log are signed: ${(error as Error).message}`);
    return {};
  }
}

async function sinksOf(io: Io): Promise<AuditSink[]> {
  const { openSinks } = await import('../../server/audit/sinks.js');
  try {
    return openSinks(io.env.GENESIS_AUDIT_SINKS ?? '', io.cwd, join(userFolder(io), 'audit-sent'));
  } catch (error) {
    throw wrongUsage(`GENESIS_AUDIT_SINKS: ${(error as Error).message}`);
  }
}
