/** Grammar of user-supplied ids, for callers that need no zod schema. */
export const ID_LENGTH_MAX = 128;
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~@+-]{0,127}$/;

const withArticle = (what: string): string => `${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}`;

export const idTooLong = (what: string): string =>
  `${withArticle(what)} has at most ${ID_LENGTH_MAX} characters`;
export const idGrammar = (what: string): string =>
  `${withArticle(what)} starts with a letter or digit, followed by letters, digits and . _ ~ @ + -`;

/** What is wrong with an id; null if it is valid. */
export function idFault(label: string, text: string): string | null {
  if (text.length > ID_LENGTH_MAX) return idTooLong(label);
  return ID_PATTERN.test(text) ? null : idGrammar(label);
}
