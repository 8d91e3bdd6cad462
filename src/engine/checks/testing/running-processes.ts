import { readdirSync, readFileSync } from 'node:fs';

/** Whether a process with this text in its command line runs on this machine. Arguments are separated by NUL. */
export const isRunning = (text: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
