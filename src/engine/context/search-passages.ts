import MiniSearch from 'minisearch';
import type { Passage } from './passages.js';

/**
 * Maximum number of different words in a query. A repeated word counts once, because the guidance and the criteria of many
 * checks repeat words.
 */
const QUERY_TERMS_MAX = 500;
const TERM_LENGTH_MAX = 64;
/** Words of letters and digits. */
const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
/** Scripts that are written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;

/**
 * The passages that match the query, best first. Equal passages and an equal query give an equal result: passages of an equal
 * score keep their order.
 */
export function searchPassages(passages: readonly Passage[], query: string): Passage[] {
  const terms = [...new Set(termsOf(query))].slice(0, QUERY_TERMS_MAX);
  if (terms.length === 0) return [];
  const index = new MiniSearch({
    fields: ['text', 'heading', 'path'],
    tokenize: termsOf,
    processTerm: (term) => term,
    searchOptions: { boost: { heading: 2, path: 1.5 } },
  });
  index.addAll(passages.map(({ text, heading, path }, id) => ({ id, text, heading, path })));
  return index
    .search(terms.join(' '))
    .sort((a, b) => b.score - a.score || a.id - b.id)
    .map(({ id }) => passages[id] as Passage);
}

/** Words in lower case; pairs of characters in scripts that do not separate words. */
function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const [word] of text.toLowerCase().matchAll(WORD)) {
    if (!UNSPACED.test(word)) terms.push(word.slice(0, TERM_LENGTH_MAX));
    else terms.push(...pairsOf([...word]));
  }
  return terms;
}

const pairsOf = (characters: readonly string[]): string[] =>
  characters.length < 2
    ? [...characters]
    : characters.slice(1).map((character, at) => `${characters[at]}${character}`);
