/** Grammar of user-supplied ids, for callers that need no zod schema. */
export const ID_LENGTH_MAX = 128;
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._~@+-]{0,127}$/;

const withArticle = (label: string): string => `${/^[aeiou]/.test(label) ? 'an' : 'a'} ${label}`;

export const idTooLongText = (label: string): string =>
  `${withArticle(label)} has at most ${ID_LENGTH_MAX} characters`;
export const idGrammarText = (label: string): string =>
  `${withArticle(label)} starts with a letter or digit, followed by letters, digits and . _ ~ @ + -`;

/** What is wrong with an id; null if it is valid. */
export function idFault(label: string, text: string): string | null {
  if (text.length > ID_LENGTH_MAX) return idTooLongText(label);
  return ID_PATTERN.test(text) ? null : idGrammarText(label);
}
