import { createHash } from 'node:crypto';

/** A Lua script, which Redis identifies by the SHA-1 of its text. */
export interface RedisScript {
  readonly text: string;
  readonly sha1: string;
}

export const scriptOf = (text: string): RedisScript => ({
  text,
  sha1: createHash('sha1').update(text).digest('hex'),
});
