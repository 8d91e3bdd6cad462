/** Number of characters of the digest in a reference, enough to distinguish results. The full digest is stored beside it. */
const HASH_LENGTH = 12;

export const workProductRef = (subject: string, generation: number, sha256: string): string =>
  `wp-${subject}-gen${generation}-${sha256.slice(0, HASH_LENGTH)}`;
