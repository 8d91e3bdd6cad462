import { writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';

/** The variable with the file in which `gen run` keeps the process group of its program. `gen fleet` sets it. */
export const PROCESS_GROUP_FILE_VARIABLE = 'GENESIS_PROCESS_GROUP_FILE';

/** Writes the file synchronously: a worker that is killed a moment later must not leave an unknown program behind. */
export const writeProcessGroupFile = (file: string, group: number): void => writeFileSync(file, `${group}\n`);

/** The process group of the program that runs, or was running when its worker was killed; null if there is none. */
export async function readProcessGroupFile(file: string): Promise<number | null> {
  const group = Number(await readFile(file, 'utf8').catch(() => ''));
  return Number.isSafeInteger(group) && group > 1 ? group : null;
}

export const removeProcessGroupFile = (file: string): Promise<void> => rm(file, { force: true });
