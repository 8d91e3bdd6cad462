import { resolve } from 'node:path';

/** A relative path of a program means a file of this folder, even if the program starts in another one. */
export const resolveProgram = (
  [program = '', ...args]: readonly string[],
  folder: string,
): readonly string[] => [program.includes('/') ? resolve(folder, program) : program, ...args];
