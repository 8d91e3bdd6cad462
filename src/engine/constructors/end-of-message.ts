import { SAYS_CHARS_MAX } from '../../core/engine/says.js';

/** The end of a message, where agents sum up, cut to the length that `says` may have in an event. */
export const endOfMessage = (text: string): string =>
  text.length <= SAYS_CHARS_MAX ? text : `…${text.slice(1 - SAYS_CHARS_MAX)}`;
