import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A Lua script, which Redis identifies by the SHA-1 of its text. */
export type RedisScript = Readonly<ReturnType<typeof readScript>>;

const SHARED = readFileSync(new URL('./shared.lua', import.meta.url), 'utf8');

/** Reads a script. The constants, given as Lua expressions, are local variables of it. */
export function readScript(url: URL, constants: Readonly<Record<string, string | number>> = {}) {
  const locals = Object.entries(constants).map(([name, value]) => `local ${name} = ${value}\n`);
  const text = [...locals, SHARED, readFileSync(url, 'utf8')].join('');
  return { text, sha1: createHash('sha1').update(text).digest('hex') };
}
