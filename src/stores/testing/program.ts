import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where the first of these programs is that the PATH leads to; null: it leads to none. */
export function findProgram(...names: readonly string[]): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find(isExecutable) ?? null;
}

/** Why a test cannot use these programs, as `onProgram` takes it; null: all of them are here. */
export function missingProgram(...names: readonly string[]): string | null {
  const missing = names.find((name) => findProgram(name) === null);
  return missing === undefined ? null : `${missing} is not installed`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
