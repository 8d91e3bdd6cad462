import { join } from 'node:path';
import type { Io } from '../io.js';
import { userFolder } from './user-folder.js';

/** The key that signs checkpoints: the path of a file, or `command:PROGRAM ARGS`. */
export const auditKeySetting = (io: Io): string =>
  io.env.GENESIS_AUDIT_KEY ?? join(userFolder(io), 'audit-key.pem');
