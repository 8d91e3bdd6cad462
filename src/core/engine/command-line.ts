/**
 * The command of a check, without a shell. Words are separated by spaces and tabs. `'…'` is literal; in `"…"` a backslash
 * escapes `"` and `\`; outside quotes a backslash escapes any character on the same line. Characters that a POSIX shell
 * would interpret are refused: passed on literally, they would run a different command than its author expects, and that
 * command could pass.
 */

export type CheckCommand =
  | { readonly kind: 'argv'; readonly argv: readonly [string, ...string[]] }
  | { readonly kind: 'shell'; readonly line: string };

export interface CommandRefusal {
  readonly refused: 'SHELL_SYNTAX' | 'BAD_COMMAND';
  readonly says: string;
  readonly next: string;
}

const COMMAND_CHARS_MAX = 16_384;
const WORDS_MAX = 1000;
/** Refused outside quotes. */
const REFUSED_UNQUOTED = new Set('|&;<>()`$*?[\n\r');
/** Also refused inside double quotes, because a shell expands them there. */
const REFUSED_IN_DOUBLE_QUOTES = new Set('`$');
/** Refused as the first character of a word. */
const REFUSED_FIRST_CHARS = new Set('~#!');
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*=/;
const USE_SHELL =
  'Put the character in single quotes to pass it on literally, or set `shell: true` on the check.';

const refuse = (refused: CommandRefusal['refused'], says: string, next: string): CommandRefusal => ({
  refused,
  says,
  next,
});
const shellSyntaxRefusal = (char: string, column: number): CommandRefusal =>
  refuse(
    'SHELL_SYNTAX',
    `The command contains ${JSON.stringify(char)} (character ${column + 1}), which only a shell understands.`,
    USE_SHELL,
  );
const badCommandRefusal = (says: string): CommandRefusal =>
  refuse('BAD_COMMAND', says, "Correct the check's `command`.");

export const isCommandRefusal = (value: object): value is CommandRefusal => 'refused' in value;

/** Splits the command of a check into program and arguments, or says why it is refused. A shell gets the line unsplit. */
export function parseCheckCommand(text: string, isShell: boolean): CheckCommand | CommandRefusal {
  if (text.trim() === '') return badCommandRefusal('The command is empty.');
  if (text.length > COMMAND_CHARS_MAX)
    return badCommandRefusal(`The command has ${text.length} characters; the limit is ${COMMAND_CHARS_MAX}.`);
  if (text.includes('\0')) return badCommandRefusal('The command contains a NUL character.');
  if (isShell) return { kind: 'shell', line: text.trim() };
  const words = splitWords(text.trim());
  if (!Array.isArray(words)) return words;
  const [program, ...args] = words;
  if (!program) return badCommandRefusal('The name of the program is empty.');
  if (words.length > WORDS_MAX)
    return badCommandRefusal(`The command has ${words.length} words; the limit is ${WORDS_MAX}.`);
  if (ASSIGNMENT.test(program))
    return refuse(
      'SHELL_SYNTAX',
      `The command begins with the assignment ${JSON.stringify(program)}, which only a shell understands.`,
      `Run it through the program \`env\`: env ${program} …, or set \`shell: true\` on the check.`,
    );
  return { kind: 'argv', argv: [program, ...args] };
}

type Quote = "'" | '"' | null;

function splitWords(text: string): string[] | CommandRefusal {
  const words: string[] = [];
  let word: string | null = null;
  let quote: Quote = null;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    const next = text.charAt(at + 1);
    if (quote !== null) {
      if (char === quote) quote = null;
      else if (quote === '"' && REFUSED_IN_DOUBLE_QUOTES.has(char)) return shellSyntaxRefusal(char, at);
      else if (quote === '"' && char === '\\' && (next === '"' || next === '\\')) {
        word += next;
        at += 1;
      } else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= '';
    } else if (char === '\\') {
      if (next === '' || next === '\n')
        return badCommandRefusal('The command has a backslash at the end of a line.');
      word = (word ?? '') + next;
      at += 1;
    } else if (REFUSED_UNQUOTED.has(char) || (word === null && REFUSED_FIRST_CHARS.has(char)))
      return shellSyntaxRefusal(char, at);
    else if (char === ' ' || char === '\t') {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + char;
  }
  if (quote !== null)
    return badCommandRefusal(`The command has an opening quote ${quote} without a closing one.`);
  return word === null ? words : [...words, word];
}

/** The text whose digest identifies a command: equal words are the same command, however they are quoted. */
export const commandDigestText = (command: CheckCommand): string =>
  JSON.stringify(command.kind === 'argv' ? { argv: command.argv } : { shell: command.line });

/**
 * The digest text for the command of a constructor or an evaluator. Such a command runs outside of the sandbox, so the
 * confirmation of a check with the same words does not cover it.
 */
export const agentDigestText = (argv: readonly string[]): string => JSON.stringify({ agent: argv });
