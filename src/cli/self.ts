import { accessSync, constants, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const IS_SOURCE = import.meta.url.endsWith('.ts');

/** This program's entry file, compiled or as source. */
const MAIN = fileURLToPath(new URL(IS_SOURCE ? './main.ts' : './main.js', import.meta.url));

/** The command that starts this program again from any folder. Running from source needs the tsx loader. */
export function selfCommand(): readonly [string, ...string[]] {
  const tsxLoaderUrl = () => pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return [process.execPath, ...(IS_SOURCE ? ['--import', tsxLoaderUrl()] : []), MAIN];
}

/** Whether a shell with this `PATH` resolves `name` to this program. */
export function isSelfOnPath(name: string, path = ''): boolean {
  return resolvesTo(MAIN, name, path);
}

/** Whether the first executable of that name in the permanent folders of `path` is this file, and not another program. */
export function resolvesTo(file: string, name: string, path: string): boolean {
  const first = path
    .split(delimiter)
    .filter(isPermanent)
    .map((folder) => join(folder, name))
    .find(isExecutable);
  return first !== undefined && realpathSync(first) === realpathSync(file);
}

/** False for relative folders, and for `node_modules/.bin`, which `npm run` and `npx` add to `PATH` for one command only. */
const isPermanent = (folder: string): boolean =>
  isAbsolute(folder) && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder);

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
