import { createInterface } from 'node:readline/promises';
import type { ReadStream } from 'node:tty';
import type { CommandContext } from './context.js';
import { wrapNotice } from './output/wrap.js';

/** Asks a yes-or-no question; yes is the default answer. False without a question if there is no terminal, or with `--json`. */
export const confirmAtTerminal = (context: CommandContext, question: string): Promise<boolean> =>
  ask(context, `${question} [Y/n]: `, /^(y|yes|)$/i);

/** Asks a yes-or-no question with no as the default answer, for actions that must not happen by accident. */
export const confirmExplicitly = (context: CommandContext, question: string): Promise<boolean> =>
  ask(context, `${question} [y/N]: `, /^(y|yes)$/i);

async function ask(context: CommandContext, question: string, yes: RegExp): Promise<boolean> {
  const { io, is_json } = context;
  if ((io.stdin as ReadStream).isTTY !== true || is_json) return false;
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  try {
    io.stderr.write(`${wrapNotice(question, io).trimEnd()} `);
    const { value, done } = await lines[Symbol.asyncIterator]().next();
    // The end of the input is not an answer.
    return done !== true && yes.test((value as string).trim());
  } finally {
    lines.close();
  }
}
