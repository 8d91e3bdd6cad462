import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { bearerToken } from './bearer.js';
import { OWNER_PRINCIPAL, type Principal } from './principal.js';
import { unauthenticated } from './refusal.js';

const PRIVATE_TOKEN_PATTERN = /^gcw_[\w-]{43}$/;
const REFUSAL_DETAIL =
  'This listener serves one user of this machine, and demands its token. Use gen in the workspace, or run gen up for a server that takes keys.';

/** 256 random bits. No record of it is made: it ends with the process. */
export const newPrivateToken = (): string => `gcw_${randomBytes(32).toString('base64url')}`;

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Lets in the bearer of one token and nobody else. Throws for a token that could be guessed. */
export function privateTokenAuthenticator(privateToken: string) {
  if (!PRIVATE_TOKEN_PATTERN.test(privateToken))
    throw new Error('A private token is one that newPrivateToken() made.');
  const expected = digestOf(privateToken);
  return {
    isOpen: false,
    authenticate: async ({ authorization = '' }: { authorization: string | undefined }) => {
      const given = bearerToken(authorization) ?? '';
      // Digests are of one length, and take as long to compare wherever they differ.
      return timingSafeEqual(digestOf(given), expected) ? OWNER_PRINCIPAL : unauthenticated(REFUSAL_DETAIL);
    },
    // The token ends with the process.
    isValid: ({ kind }: Principal) => kind === 'owner',
    watch: () => () => {},
  };
}
