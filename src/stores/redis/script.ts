import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A Lua script, which Redis identifies by the SHA-1 of its text. */
export type RedisScript = Readonly<ReturnType<typeof readScript>>;

const SHARED = readFileSync(new URL('./shared.lua', import.meta.url), 'utf8');

/** The functions that define the layout of the data, for the scripts that write it. */
export const LAYOUT = new URL('./layout.lua', import.meta.url);

/**
 * Reads a script, and puts the shared functions and `libraries` before it. Each constant is a Lua expression, whose value
 * the script has in a local variable.
 */
export function readScript(
  url: URL,
  constants: Readonly<Record<string, string | number>> = {},
  libraries: readonly URL[] = [],
) {
  const locals = Object.entries(constants).map(([name, value]) => `local ${name} = ${value}\n`);
  const text = [...locals, SHARED, ...[...libraries, url].map((file) => readFileSync(file, 'utf8'))].join('');
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
