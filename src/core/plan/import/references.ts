import type { Reference } from './source-item.js';

const DEPENDENCY_WORDS = '(?:depends on|blocked by|after)';
/** `Title (depends on #3)`, `Title (after: X, Y)`. */
const IN_PARENTHESES = new RegExp(`\\(${DEPENDENCY_WORDS}:? ([^()]{1,1000})\\)$`, 'i');
/** `Title, depends on: X`; without parentheses the colon is needed, because a title may have these words. */
const AT_END = new RegExp(`(?:^|[ ,;(—–-])${DEPENDENCY_WORDS}: (.{1,1000})$`, 'i');
/** `depends on #3` at the end needs no colon, because it cannot mean anything else. */
const NUMBERS_AT_END = new RegExp(
  `(?:^|[ ,;—–-])${DEPENDENCY_WORDS} (#\\d{1,9}(?:(?:, ?| and | & )#\\d{1,9}){0,100})$`,
  'i',
);
/** Matches references in the text of an issue. */
const IN_PROSE =
  /\b(?:depends on|blocked by):? {0,3}((?:#\d{1,9}|[A-Z][A-Z0-9]{0,20}-\d{1,9})(?:(?:, ?| and | & )(?:#\d{1,9}|[A-Z][A-Z0-9]{0,20}-\d{1,9})){0,100})/gi;

const referencesIn = (list: string, is_required: boolean): Reference[] =>
  list
    .split(/,| and (?=#)| & (?=#)/)
    .map((text) => ({ text: text.trim().replace(/^["'`]|["'`.]$/g, ''), is_required }))
    .filter(({ text }) => text !== '');

/** Separates the dependencies at the end of a line from the text before them. */
export function splitReferences(line: string): {
  readonly textBefore: string;
  readonly references: Reference[];
} {
  for (const pattern of [IN_PARENTHESES, AT_END, NUMBERS_AT_END]) {
    const match = pattern.exec(line);
    if (match === null) continue;
    const textBefore = line.slice(0, match.index).replace(/[ ,;—–-]+$/, '');
    return { textBefore, references: referencesIn(match[1] ?? '', true) };
  }
  return { textBefore: line, references: [] };
}

/** The dependencies that the text of an issue mentions. */
export const referencesInProse = (text: string): Reference[] =>
  [...text.matchAll(IN_PROSE)].flatMap((match) =>
    (match[1] ?? '').split(/,| and | & /).map((text) => ({ text: text.trim(), is_required: false })),
  );
