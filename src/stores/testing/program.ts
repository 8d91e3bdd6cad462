import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the first of these programs that is in the PATH; null: none. */
export function findInstalledProgram(...names: readonly string[]): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find(isExecutable) ?? null;
}

/** Why a test cannot use these programs, for `onProgram`; null: all are installed. */
export function missingProgram(...names: readonly string[]): string | null {
  const missing = names.find((name) => findInstalledProgram(name) === null);
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
