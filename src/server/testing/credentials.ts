import type { Authenticator } from '../auth/authenticator.js';

/** The part of an authenticator for tests in which every credential stays valid. */
export const LASTING_CREDENTIALS: Pick<Authenticator, 'isValid' | 'watch'> = {
  isValid: () => true,
  watch: () => () => {},
};
