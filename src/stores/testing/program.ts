import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where the first of these programs is that the PATH leads to; null: it leads to none. */
export function findProgram(...names: readonly string[]): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const places = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return places.find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
