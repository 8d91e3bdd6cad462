import type { WriteStream } from 'node:tty';
import yoctoSpinner from 'yocto-spinner';
import type { Io } from '../io.js';
import { collapseControls, markSequences } from './sanitize.js';
import type { SanitizedOutput } from './sanitized-output.js';

/** A spinner on standard error, only if that is a terminal. */
export function startProgress(io: Io, text: string) {
  const stream = spinnerStream(io.stderr, io.columns);
  const spinner = io.stderr_is_terminal
    ? yoctoSpinner({ text: collapseControls(text), stream }).start()
    : null;
  return {
    update(now: string): void {
      if (spinner !== null) spinner.text = collapseControls(now);
    },
    stop(): void {
      spinner?.stop();
    },
  };
}

/**
 * The part of a TTY stream that the spinner uses. The text of the spinner is already free of sequences, so all sequences are
 * the spinner's own and may be marked.
 */
function spinnerStream(output: SanitizedOutput, columns: number | null): WriteStream {
  const writeMarked = (text: string): boolean => output.write(markSequences(text));
  const stream: Partial<WriteStream> = {
    isTTY: true,
    write: writeMarked,
    cursorTo: (column: number) => writeMarked(`\u001b[${column + 1}G`),
    moveCursor: (_: number, rows: number) => writeMarked(`\u001b[${-rows}A`),
    clearLine: () => writeMarked('\u001b[0K'),
    ...(columns === null ? {} : { columns }),
  };
  return stream as WriteStream;
}
