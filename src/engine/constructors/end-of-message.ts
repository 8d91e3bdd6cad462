import { SAYS_CHARS_MAX } from '../../core/engine/says.js';

/** The end of a message, where an agent sums up, at the length that a record may have. */
export const endOfMessage = (text: string): string =>
  text.length <= SAYS_CHARS_MAX ? text : `…${text.slice(1 - SAYS_CHARS_MAX)}`;
