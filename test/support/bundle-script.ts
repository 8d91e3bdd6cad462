import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { newFolder } from './built.js';

export interface BundledScript {
  readonly script: string;
  remove(): Promise<void>;
}

/** A bundle has no files beside it: its modules read theirs in the source tree. */
const readFromSource: Plugin = {
  name: 'read-from-source',
  setup: (bundling) =>
    bundling.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace(
        /new URL\('(\.[^']+\.(?!ts')\w+)', import\.meta\.url\)/g,
        (match, name: string) => {
          const url = new URL(name, pathToFileURL(path));
          return existsSync(fileURLToPath(url)) ? `new URL(${JSON.stringify(url.href)})` : match;
        },
      );
      return { contents, loader: 'ts' };
    }),
};

/** Bundles a TypeScript program into one script: run from its sources, a process takes three times as long to start. */
export async function bundleScript(program: string): Promise<BundledScript> {
  const folder = await newFolder('bundled-');
  const script = join(folder, 'program.mjs');
  const options = { bundle: true, platform: 'node', format: 'esm', packages: 'external' } as const;
  await build({
    entryPoints: [program],
    outfile: script,
    logLevel: 'error',
    plugins: [readFromSource],
    ...options,
  });
  return { script, remove: () => rm(folder, { recursive: true, force: true }) };
}
