import type { Io } from '../io.js';
import { singleLine } from './text.js';

/** A text under an indent, on as many lines as the terminal makes of it; a pipe gets it on one. */
export function wrapLines(text: string, indent: number, width: number | null): string[] {
  const pad = ' '.repeat(indent);
  const lineWidth = Math.max((width ?? Number.POSITIVE_INFINITY) - indent, 20);
  const lines: string[] = [];
  let line = '';
  for (const word of singleLine(text).trim().split(/ +/)) {
    if (line !== '' && line.length + 1 + word.length > lineWidth) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].map((each) => `${pad}${each}`);
}

/** A name before a text that goes on below its own beginning. */
export function labelledLines(name: string, text: string, nameWidth: number, width: number | null): string[] {
  const [first = '', ...rest] = wrapLines(text, nameWidth, width);
  return [`${name.padEnd(nameWidth)}${first.slice(nameWidth)}`, ...rest];
}

/** A remark as standard error shows it: broken for whoever watches there, whole for everything else. */
export function wrapNotice(
  text: string,
  { columns, is_watched }: Pick<Io, 'columns' | 'is_watched'>,
): string {
  if (!is_watched || columns === null) return text;
  const lines = text.split('\n').flatMap((line) => wrapLines(line, line.search(/\S|$/), columns));
  return lines.join('\n');
}
