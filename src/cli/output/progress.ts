import type { WriteStream } from 'node:tty';
import yoctoSpinner from 'yocto-spinner';
import type { Io } from '../io.js';
import { marked, onOneLine } from './plain.js';
import type { PlainOutput } from './plain-output.js';

export interface Progress {
  say(text: string): void;
  stop(): void;
}

const SILENT: Progress = { say: () => {}, stop: () => {} };

/** Something that takes long, on standard error and only where somebody watches it. */
export function progress(io: Io, text: string): Progress {
  if (!io.is_watched) return SILENT;
  const stream = spinnerStream(io.stderr, io.columns);
  const spinner = yoctoSpinner({ text: onOneLine(text), stream }).start();
  return {
    say(now) {
      spinner.text = onOneLine(now);
    },
    stop() {
      spinner.stop();
    },
  };
}

/** What the spinner uses of a terminal. Its text has no sequences but its own, which may pass. */
function spinnerStream(output: PlainOutput, columns: number | null): WriteStream {
  const own = (text: string): boolean => output.write(marked(text));
  const stream: Partial<WriteStream> = {
    isTTY: true,
    write: own,
    cursorTo: (column: number) => own(`\u001b[${column + 1}G`),
    moveCursor: (_: number, rows: number) => own(`\u001b[${-rows}A`),
    clearLine: () => own('\u001b[0K'),
    ...(columns === null ? {} : { columns }),
  };
  return stream as WriteStream;
}
