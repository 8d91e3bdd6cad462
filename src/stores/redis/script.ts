import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A Lua script, which Redis identifies by the SHA-1 of its text. */
export type RedisScript = Readonly<ReturnType<typeof readScript>>;

const SHARED = readFileSync(new URL('./shared.lua', import.meta.url), 'utf8');

/** How data is laid out: the functions of the scripts that write it. */
export const LAYOUT = new URL('./layout.lua', import.meta.url);

/** Reads a script, after the files that it is written on top of. The constants, given as Lua expressions, are local variables. */
export function readScript(
  url: URL,
  constants: Readonly<Record<string, string | number>> = {},
  under: readonly URL[] = [],
) {
  const locals = Object.entries(constants).map(([name, value]) => `local ${name} = ${value}\n`);
  const text = [...locals, SHARED, ...[...under, url].map((file) => readFileSync(file, 'utf8'))].join('');
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
