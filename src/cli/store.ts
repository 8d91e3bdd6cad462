import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Io } from './io.js';
import { homeFolder } from './memory/folder.js';

const FILE = 'file:';

/** The store a server uses where nobody says which: the embedded log, beside what the CLI remembers. */
export const defaultStore = (io: Io): string =>
  io.env.GENESIS_STORE ?? `${FILE}${join(homeFolder(io), 'log')}`;

/** The folder of that store; null where it is no folder. */
export function embeddedLog(io: Io): string | null {
  const url = defaultStore(io);
  if (url.startsWith(`${FILE}//`)) return fileURLToPath(url);
  return url.startsWith(FILE) ? resolve(io.cwd, url.slice(FILE.length)) : null;
}
