import { accessSync, constants, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const IS_SOURCE = import.meta.url.endsWith('.ts');

/** The file that this program starts with, built or as it is written. */
const MAIN = fileURLToPath(new URL(IS_SOURCE ? './main.ts' : './main.js', import.meta.url));

/** The words that start this very program again, in any folder. As it is written, it needs its loader. */
export function selfCommand(): readonly [string, ...string[]] {
  const loader = () => pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return [process.execPath, ...(IS_SOURCE ? ['--import', loader()] : []), MAIN];
}

/** Whether a shell that has this `PATH` starts this very program as `name`. */
export function startsSelf(name: string, path = ''): boolean {
  return resolvesTo(MAIN, name, path);
}

/** Whether the first program of that name on `path` is this file. What only resembles it may be anybody's. */
export function resolvesTo(file: string, name: string, path: string): boolean {
  const first = path
    .split(delimiter)
    .filter(isLasting)
    .map((folder) => join(folder, name))
    .find(isExecutable);
  return first !== undefined && realpathSync(first) === realpathSync(file);
}

/** `npm run` and `npx` put `node_modules/.bin` on the path, for the time of one command. */
const isLasting = (folder: string): boolean =>
  isAbsolute(folder) && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder);

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
