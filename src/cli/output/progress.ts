import type { WriteStream } from 'node:tty';
import yoctoSpinner from 'yocto-spinner';
import type { Io } from '../io.js';
import { collapseControls, markSequences } from './sanitize.js';
import type { SanitizedOutput } from './sanitized-output.js';

export interface ProgressIndicator {
  update(text: string): void;
  stop(): void;
}

const NO_PROGRESS: ProgressIndicator = { update: () => {}, stop: () => {} };

/** Something that takes long, on standard error and only where somebody watches it. */
export function startProgress(io: Io, text: string): ProgressIndicator {
  if (!io.is_watched) return NO_PROGRESS;
  const stream = spinnerStream(io.stderr, io.columns);
  const spinner = yoctoSpinner({ text: collapseControls(text), stream }).start();
  return {
    update(now) {
      spinner.text = collapseControls(now);
    },
    stop() {
      spinner.stop();
    },
  };
}

/** What the spinner uses of a terminal. Its text has no sequences but its own, which may pass. */
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
