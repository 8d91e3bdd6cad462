import { cpSync, readdirSync } from 'node:fs';
import { extname, join, sep } from 'node:path';

/** Kinds of files that modules read at run time. */
const ASSET_EXTENSIONS = [
  '.css',
  '.gz',
  '.html',
  '.js',
  '.lua',
  '.md',
  '.sh',
  '.sql',
  '.svg',
  '.txt',
  '.yml',
];

/**
 * Copies the files that modules read at run time to the folder of the built modules. Core has no such files, because
 * its YAML is generated into a module. Files that only tests read are not copied.
 */
export function copyAssets(source: string, target: string): void {
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    const isTestAsset = file.split(sep).includes('testing');
    if (ASSET_EXTENSIONS.includes(extname(file)) && !file.startsWith('core') && !isTestAsset)
      cpSync(join(source, file), join(target, file));
  }
}
