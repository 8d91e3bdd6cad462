import { statSync } from 'node:fs';
import { basename, delimiter, resolve } from 'node:path';
import { wrongUsage } from '../exit.js';
import type { Io } from '../io.js';
import { isExecutable } from '../self.js';

const PATH_DEFAULT = '/bin:/usr/bin';

/**
 * Throws if the program cannot be started. Called before any claim: otherwise a mistyped name would make task after
 * task fail until all are held.
 */
export function assertRunnable(io: Io, program: string): void {
  // On Windows the file extension decides what is executable, so the start itself is the check.
  if (process.platform === 'win32') return;
  const folders = program.includes('/') ? ['.'] : (io.env.PATH ?? PATH_DEFAULT).split(delimiter);
  const files = folders.map((folder) => resolve(io.cwd, folder, program)).filter(isFile);
  if (files.some(isExecutable)) return;
  const [file] = files;
  if (file !== undefined)
    throw wrongUsage(`${program} is not executable. Run: chmod +x ${file}. No work was claimed.`);
  const notFoundText = program.includes('/')
    ? `Program not found: ${program}`
    : `Not found on the PATH: ${program}`;
  throw wrongUsage(`${notFoundText}. Pass the program to run after --. No work was claimed.`);
}

const SHELLS: ReadonlySet<string> = new Set(['sh', 'ash', 'bash', 'dash', 'ksh', 'zsh']);
/** Exit codes of a shell whose command is not found, or is not executable. */
const NOT_RUN_CODES: ReadonlySet<number> = new Set([126, 127]);

/** Whether a shell could not run the command that it was started for. */
export const isNotFoundByShell = ([program = '']: readonly string[], exitCode: number): boolean =>
  NOT_RUN_CODES.has(exitCode) && SHELLS.has(basename(program));

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
