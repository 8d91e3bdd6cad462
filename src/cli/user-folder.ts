import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Io } from './io.js';

export const homeOf = (io: Io): string => io.env.HOME ?? homedir();

/** The folder for data that belongs to the user and not to a project. */
export const userFolder = (io: Io): string => io.env.GENESIS_HOME ?? join(homeOf(io), '.genesis');
