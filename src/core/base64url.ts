/**
 * Whether the text is canonical base64url: no padding, no foreign character, unused bits zero. Decoders ignore the
 * unused bits, so one value would have several spellings and a comparison as text would treat them as different.
 */
export const isCanonicalBase64url = (text: string): boolean =>
  Buffer.from(text, 'base64url').toString('base64url') === text;
