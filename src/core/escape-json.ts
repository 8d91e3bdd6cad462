const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** The text as it appears between the quotes of `JSON.stringify`. Most texts have nothing to escape. */
export const escapeJson = (text: string): string =>
  PLAIN_TEXT.test(text) ? text : JSON.stringify(text).slice(1, -1);
