import { cpSync, readdirSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** Kinds of files that modules read at run time. */
const ASSETS = ['.css', '.gz', '.html', '.js', '.lua', '.md', '.sh', '.sql', '.svg', '.txt', '.yml'];

/**
 * Copies the files that modules read beside the built modules. Core reads none: its YAML is generated into a module.
 * What only tests read is not part of the package.
 */
export function copyAssets(source: string, target: string): void {
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    const isTestAsset = file.split(sep).includes('testing');
    if (ASSETS.includes(extname(file)) && !file.startsWith('core') && !isTestAsset)
      cpSync(join(source, file), join(target, file));
  }
}
