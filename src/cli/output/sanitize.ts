import { randomBytes } from 'node:crypto';

/**
 * The CLI marks its own escape sequences with a number that only this process knows. Text from elsewhere cannot carry
 * the mark, so it cannot pass for one of them.
 */
const MARK = `\u001b{${randomBytes(16).toString('hex')}}`;

/** A style, or one of the cursor movements of `--watch` and of the progress line. */
const SEQUENCE = '\\[[0-9;?]{0,16}[A-Za-z]';

/**
 * What a terminal acts on, or shows as nothing: control characters save line feed and tab, bidirectional controls,
 * zero-width characters, line separators and tags. The joiners U+200C and U+200D stay: words and emoji need them.
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
 * The text as it may be written to a terminal: marked sequences become real ones, and everything else that a terminal
 * would act on becomes its `\uXXXX`. JSON stays the same JSON, since such characters stand inside its strings alone.
 */
export function sanitize(text: string): string {
  return text.replace(SEQUENCE_OR_CONTROL, (found: string, sequence: string | undefined) => {
    if (sequence !== undefined) return `\u001b${sequence}`;
    return found === '\r\n' ? '\n' : escaped(found);
  });
}

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${hex(text.charCodeAt(at))}`).join('');
const hex = (code: number): string => code.toString(16).padStart(4, '0');

/** The text on one line, with a space for each run of what a terminal acts on. For tables and wrapped lines. */
export const collapseControls = (text: string): string => text.replace(CONTROL_RUN, ' ');

/** Marks every sequence of a text that the CLI wrote itself, word for word. Never for text from elsewhere. */
export const markSequences = (own: string): string =>
  own.replace(new RegExp(`\\u001b(${SEQUENCE})`, 'g'), (_, sequence: string) => `${MARK}${sequence}`);
