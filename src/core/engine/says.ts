/** Maximum length of `says` in an event, in characters. */
export const SAYS_CHARS_MAX = 2000;

/** A text as `says` of an event, cut off if it is too long. */
export const truncatedSays = (text: string): string => text.slice(0, SAYS_CHARS_MAX);
