import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { type Mutant, mutate } from './mutant.js';

const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = join(HERE, '..', '..');

/** Bundles the search and the simulator into one script, with one fault in the code or none. */
export async function bundle(mutant: Mutant | null, outfile: string): Promise<void> {
  await build({
    entryPoints: [join(HERE, 'worker.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'silent',
    plugins: mutant === null ? [] : [mutantPlugin(mutant)],
  });
}

/** Applies the fault only while bundling: the source files stay unchanged. */
function mutantPlugin(mutant: Mutant): Plugin {
  const target = join(ROOT, mutant.file);
  return {
    name: mutant.name,
    setup(bundling) {
      let isLoaded = false;
      bundling.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path !== target) return undefined;
        isLoaded = true;
        return { contents: mutate(readFileSync(path, 'utf8'), mutant), loader: 'ts' };
      });
      bundling.onEnd(() => {
        if (!isLoaded) throw new Error(`${mutant.name}: nothing in the simulation loads ${mutant.file}.`);
      });
    },
  };
}
