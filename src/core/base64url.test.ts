import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { isCanonicalBase64url } from './base64url.js';

it('accepts a string only if re-encoding its decoded bytes gives the same string', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (let length = 0; length < 70; length += 1) {
    const text = randomBytes(length).toString('base64url');
    expect(isCanonicalBase64url(text)).toBe(true);
    for (const last of alphabet) {
      const other = text.slice(0, -1) + last;
      const isSame = Buffer.from(other, 'base64url').toString('base64url') === other;
      expect([other, isCanonicalBase64url(other)]).toEqual([other, isSame]);
    }
  }
});

it('refuses padding, the standard base64 alphabet and other invalid text', () => {
  for (const text of ['AA==', 'AAA=', 'A+AA', 'A/AA', 'AA A', 'AA\nA', 'A', 'AAAAA', 'AAÄA']) {
    expect(isCanonicalBase64url(text)).toBe(false);
  }
});
