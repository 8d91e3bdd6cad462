import { randomBytes } from 'node:crypto';

/** Marks the CLI's own escape sequences. It is random per process, so text from elsewhere cannot forge it. */
const MARK = `\u001b{${randomBytes(16).toString('hex')}}`;

/** A style, or a cursor movement of `--watch` or the spinner. */
const SEQUENCE = '\\[[0-9;?]{0,16}[A-Za-z]';

/**
 * Characters that a terminal acts on or shows as nothing: control characters except line feed and tab,
 * bidirectional controls, zero-width characters, line separators and tags. The joiners U+200C and U+200D are kept:
 * words and emoji need them.
 */
const CONTROL_CHARACTERS =
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]|\\udb40[\\udc00-\\udc7f]';

const SEQUENCE_OR_CONTROL = new RegExp(
  `${MARK.replace('{', '\\{').replace('}', '\\}')}(${SEQUENCE})|\\r\\n|${CONTROL_CHARACTERS}`,
  'g',
);
const CONTROL_RUN = new RegExp(`(?:${CONTROL_CHARACTERS}|[\\t\\n])+`, 'g');

/**
 * Makes text safe for a terminal: marked sequences become real ones, and every other character that a terminal acts
 * on becomes its `\uXXXX` escape. JSON stays equivalent, because such characters occur only in its strings.
 */
export function sanitize(text: string): string {
  return text.replace(SEQUENCE_OR_CONTROL, (match: string, sequence: string | undefined) => {
    if (sequence !== undefined) return `\u001b${sequence}`;
    return match === '\r\n' ? '\n' : escaped(match);
  });
}

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, index) => `\\u${hex(text.charCodeAt(index))}`).join('');
const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** Replaces each run of control characters with a space, for text that must stay on one line. */
export const collapseControls = (text: string): string => text.replace(CONTROL_RUN, ' ');

/** Marks every sequence in text that the CLI wrote itself. Never call it with text from elsewhere. */
export const markSequences = (cliText: string): string =>
  cliText.replace(new RegExp(`\\u001b(${SEQUENCE})`, 'g'), (_, sequence: string) => `${MARK}${sequence}`);
