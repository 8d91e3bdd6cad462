/** The last characters whose unused low bits are all zero, by how many characters stand in the last group. */
const LAST_OF_TWO = /[AQgw]$/;
const LAST_OF_THREE = /[AEIMQUYcgkosw048]$/;

/**
 * Whether the text is base64url in the one spelling that its bytes have: no padding, no foreign character, and no bit
 * set that stands for nothing. A decoder ignores those bits, so one value would have several spellings, and a
 * comparison of texts would take them for different values.
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
