import { resolve } from 'node:path';

/**
 * Makes a relative path of the program absolute: it is relative to `folder`, even if the program starts in another one. A
 * name without a slash stays as it is, to be found in PATH.
 */
export const resolveProgram = (
  [program = '', ...args]: readonly string[],
  folder: string,
): readonly string[] => [program.includes('/') ? resolve(folder, program) : program, ...args];
