import { createInterface } from 'node:readline/promises';
import type { ReadStream } from 'node:tty';
import type { CommandContext } from './context.js';
import { wrapNotice } from './output/wrap.js';

/** Asks a yes-or-no question; yes is the default answer. False without asking if nobody can answer. */
export async function confirmAtTerminal(context: CommandContext, question: string): Promise<boolean> {
  const { io, is_json } = context;
  if ((io.stdin as ReadStream).isTTY !== true || is_json) return false;
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  try {
    io.stderr.write(`${wrapNotice(question, io)} [Y/n]: `);
    const { value, done } = await lines[Symbol.asyncIterator]().next();
    // The end of the input is not an answer.
    return done !== true && /^(y|yes|)$/i.test((value as string).trim());
  } finally {
    lines.close();
  }
}
