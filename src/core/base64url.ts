/**
 * Whether the text is canonical base64url: no padding, no foreign character, unused bits zero. Decoders ignore the unused
 * bits, so without this check one value would have several spellings, which a comparison as text would treat as different.
 */
export const isCanonicalBase64url = (text: string): boolean =>
  Buffer.from(text, 'base64url').toString('base64url') === text;
