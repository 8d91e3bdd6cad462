import type { Gatekeeper } from '../auth/gatekeeper.js';

/** The part of a gatekeeper for tests in which no credential ever stops being valid. */
export const LASTING_CREDENTIALS: Pick<Gatekeeper, 'isValid' | 'watch'> = {
  isValid: () => true,
  watch: () => () => {},
};
