/** Last characters whose unused low bits are zero, by the number of characters in the last group. */
const LAST_OF_TWO = /[AQgw]$/;
const LAST_OF_THREE = /[AEIMQUYcgkosw048]$/;

/**
 * Whether the text is canonical base64url: no padding, no foreign character, unused bits zero. Decoders ignore the
 * unused bits, so one value would have several spellings and a comparison as text would treat them as different.
 */
export function isCanonicalBase64url(text: string): boolean {
  if (!/^[\w-]*$/.test(text)) return false;
  switch (text.length % 4) {
    case 0:
      return true;
    case 2:
      return LAST_OF_TWO.test(text);
    case 3:
      return LAST_OF_THREE.test(text);
    default:
      return false;
  }
}
