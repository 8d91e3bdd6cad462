import { CST, Lexer } from 'yaml';
import type { SourcePosition } from './source-position.js';

/** Limits that no legitimate file reaches; larger values make the parser slow. */
const NESTED_MAX = 32;
const INDICATORS_IN_LINE_MAX = 32;
const ALIASES_MAX = 100;
const DIRECTIVES_MAX = 10;
const STRAY_BRACKETS_MAX = 10;

/**
 * Scans the tokens of YAML text before it is parsed, and stops at the first limit exceeded: a parser needs minutes for a
 * megabyte of brackets or a hundred thousand aliases. Null: the text may be parsed.
 */
export function findYamlLimitFault(
  text: string,
): { readonly source_position: SourcePosition; readonly message: string } | null {
  const counts = { nested: 0, indicators: 0, aliases: 0, directives: 0, strayBrackets: 0 };
  let offset = 0;
  for (const source of new Lexer().lex(text)) {
    switch (CST.tokenType(source)) {
      case 'newline':
        counts.indicators = 0;
        break;
      case 'flow-seq-start':
      case 'flow-map-start':
        counts.nested += 1;
        break;
      case 'flow-seq-end':
      case 'flow-map-end':
        if (counts.nested > 0) counts.nested -= 1;
        else counts.strayBrackets += 1;
        break;
      case 'seq-item-ind':
      case 'explicit-key-ind':
        counts.indicators += 1;
        break;
      case 'alias':
      case 'anchor':
        counts.aliases += 1;
        break;
      case 'directive-line':
        counts.directives += 1;
    }
    const message = faultText(counts);
    if (message !== null) return { source_position: sourcePositionAt(text, offset), message };
    offset += source.length;
  }
  return null;
}

function sourcePositionAt(text: string, offset: number): SourcePosition {
  const lines = text.slice(0, offset).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

function faultText(
  counts: Record<'nested' | 'indicators' | 'aliases' | 'directives' | 'strayBrackets', number>,
): string | null {
  if (counts.nested > NESTED_MAX || counts.indicators > INDICATORS_IN_LINE_MAX)
    return `The text is nested too deeply; at most ${NESTED_MAX} levels are allowed. Flatten it.`;
  if (counts.aliases > ALIASES_MAX) return 'Anchors and aliases are not supported; write the values out.';
  if (counts.directives > DIRECTIVES_MAX) return 'Directives are not supported; remove them.';
  return counts.strayBrackets > STRAY_BRACKETS_MAX ? 'Unmatched closing brackets; remove them.' : null;
}
