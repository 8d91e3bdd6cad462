import type { WriteStream } from 'node:tty';
import yoctoSpinner from 'yocto-spinner';
import type { Io } from '../io.js';

export interface Progress {
  say(text: string): void;
  stop(): void;
}

const SILENT: Progress = { say: () => {}, stop: () => {} };

/** Something that takes long, on standard error and only where somebody watches it. */
export function progress(io: Io, text: string): Progress {
  if (!io.is_watched) return SILENT;
  const spinner = yoctoSpinner({ text, stream: io.stderr as WriteStream }).start();
  return {
    say(now) {
      spinner.text = now;
    },
    stop() {
      spinner.stop();
    },
  };
}
