import { readFileSync } from 'node:fs';

/** From the package itself, which lies two folders above, built or not. */
const manifest = new URL('../../package.json', import.meta.url);

export const VERSION = (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
