import { readFileSync } from 'node:fs';

/** The package manifest is two folders above, both in `src` and in `dist`. */
const manifest = new URL('../../package.json', import.meta.url);

export const VERSION = (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
