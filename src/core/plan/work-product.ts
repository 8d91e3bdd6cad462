/** This part of the digest is enough to distinguish results. The full digest is stored beside the reference. */
const HASH_LENGTH = 12;

export const workProductRef = (subject: string, generation: number, sha256: string): string =>
  `wp-${subject}-gen${generation}-${sha256.slice(0, HASH_LENGTH)}`;
