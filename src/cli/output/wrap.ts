import type { Io } from '../io.js';
import { singleLine } from './text.js';

/** Indented text wrapped to the terminal's width; one line for a pipe. */
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

/** A label followed by text whose later lines align with its first. */
export function labelledLines(name: string, text: string, nameWidth: number, width: number | null): string[] {
  const [first = '', ...rest] = wrapLines(text, nameWidth, width);
  return [`${name.padEnd(nameWidth)}${first.slice(nameWidth)}`, ...rest];
}

/** Wraps a notice if standard error and standard output are terminals: only the width of standard output is known. */
export function wrapNotice(
  text: string,
  { columns, stderr_is_terminal }: Pick<Io, 'columns' | 'stderr_is_terminal'>,
): string {
  if (!stderr_is_terminal || columns === null) return text;
  const lines = text.split('\n').flatMap((line) => wrapLines(line, line.search(/\S|$/), columns));
  return lines.join('\n');
}
