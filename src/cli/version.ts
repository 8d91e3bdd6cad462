import { readFileSync } from 'node:fs';

/** The package manifest is two folders above, both in `src` and in `dist`. */
const MANIFEST = new URL('../../package.json', import.meta.url);
export const VERSION = (JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string }).version;
