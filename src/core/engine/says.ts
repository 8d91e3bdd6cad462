/** The most characters that `says` may have in an event. */
export const SAYS_CHARS_MAX = 2000;

/** A text as `says` of an event: without its end, if it is too long. */
export const truncatedSays = (text: string): string => text.slice(0, SAYS_CHARS_MAX);
