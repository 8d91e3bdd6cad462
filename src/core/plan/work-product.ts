/** Enough of the digest to distinguish results; the full digest is stored beside it. */
const HASH_LENGTH = 12;

export const workProductRef = (subject: string, generation: number, sha256: string): string =>
  `wp-${subject}-gen${generation}-${sha256.slice(0, HASH_LENGTH)}`;
