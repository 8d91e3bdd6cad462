import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../io.js';

/** The name of the CLI's folders: in the user's home, and in a project. */
export const CLI_FOLDER_NAME = '.genesis';

export const osHomeFolder = ({ env }: Pick<Io, 'env'>): string => env.HOME ?? homedir();

/** The folder for data that belongs to the user and not to a project. */
export const userFolder = (io: Pick<Io, 'env'>): string =>
  io.env.GENESIS_HOME ?? join(osHomeFolder(io), CLI_FOLDER_NAME);
