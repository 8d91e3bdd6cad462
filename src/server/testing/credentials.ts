import type { Authenticator } from '../auth/authenticator.js';

/** The part of a gatekeeper for tests in which no credential ever stops being valid. */
export const LASTING_CREDENTIALS: Pick<Authenticator, 'isValid' | 'watch'> = {
  isValid: () => true,
  watch: () => () => {},
};
