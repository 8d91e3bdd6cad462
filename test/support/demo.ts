import { execFile } from 'node:child_process';
import { join } from 'node:path';

interface DemoExit {
  readonly code: number;
  readonly stdout: string;
}

/** Runs the demo of the program that was built into a folder. */
export function runDemo(folder: string): Promise<DemoExit> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'dist/cli/main.js'), 'demo'], (error, stdout) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout }),
    );
  });
}
