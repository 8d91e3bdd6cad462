import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { bearerToken, OWNER_PRINCIPAL, type Principal, unauthenticated } from './principal.js';

const PRIVATE_TOKEN_PATTERN = /^gcw_[\w-]{43}$/;
const REFUSAL_DETAIL =
  'This listener accepts only the token of the user who started it. Run gen in the workspace, or start a server that accepts keys: gen up.';

/** 256 random bits. The token is valid as long as the process runs; a workspace's address file may give it to its user. */
export const newPrivateToken = (): string => `gcw_${randomBytes(32).toString('base64url')}`;

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Accepts one token and nothing else. Throws if the token is not one of `newPrivateToken()`, since it could be guessed. */
export function privateTokenAuthenticator(privateToken: string) {
  if (!PRIVATE_TOKEN_PATTERN.test(privateToken))
    throw new Error('Invalid private token. Create one with newPrivateToken().');
  const expected = digestOf(privateToken);
  return {
    isInOpenMode: false,
    authenticate: (authorization: string | null) => {
      const token = bearerToken(authorization ?? '') ?? '';
      // Digests have equal length, and the comparison takes constant time.
      return timingSafeEqual(digestOf(token), expected) ? OWNER_PRINCIPAL : unauthenticated(REFUSAL_DETAIL);
    },
    // The token is valid as long as the process runs.
    isValid: ({ kind }: Principal) => kind === 'owner',
    watch: () => () => {},
  };
}
