import { CST, Lexer } from 'yaml';
import type { Place } from './place.js';

/** No file needs more, and reading it to its end would take its reader's time. */
const NESTED_MAX = 32;
const MARKS_IN_LINE_MAX = 32;
const ALIASES_MAX = 100;
const DIRECTIVES_MAX = 10;
const STRAY_MAX = 10;

export interface Tangle {
  readonly place: Place;
  readonly says: string;
}

/**
 * Looks over the tokens of a text before it is parsed, in one pass that ends where it becomes absurd: a parser takes
 * minutes over a megabyte of brackets or a hundred thousand aliases. Null: it may be parsed.
 */
export function findTangle(text: string): Tangle | null {
  const seen = { nested: 0, marks: 0, aliases: 0, directives: 0, stray: 0 };
  let offset = 0;
  for (const source of new Lexer().lex(text)) {
    switch (CST.tokenType(source)) {
      case 'newline':
        seen.marks = 0;
        break;
      case 'flow-seq-start':
      case 'flow-map-start':
        seen.nested += 1;
        break;
      case 'flow-seq-end':
      case 'flow-map-end':
        if (seen.nested > 0) seen.nested -= 1;
        else seen.stray += 1;
        break;
      case 'seq-item-ind':
      case 'explicit-key-ind':
        seen.marks += 1;
        break;
      case 'alias':
      case 'anchor':
        seen.aliases += 1;
        break;
      case 'directive-line':
        seen.directives += 1;
    }
    const says = verdict(seen);
    if (says !== null) return { place: placeIn(text, offset), says };
    offset += source.length;
  }
  return null;
}

function placeIn(text: string, offset: number): Place {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function verdict(
  seen: Record<'nested' | 'marks' | 'aliases' | 'directives' | 'stray', number>,
): string | null {
  if (seen.nested > NESTED_MAX || seen.marks > MARKS_IN_LINE_MAX) return 'The text is nested too deeply.';
  if (seen.aliases > ALIASES_MAX) return 'There may be no anchors and aliases here; write the values out.';
  if (seen.directives > DIRECTIVES_MAX) return 'There may be no directives here.';
  return seen.stray > STRAY_MAX ? 'There are brackets that close nothing.' : null;
}
