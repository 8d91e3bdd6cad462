import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SourceText {
  readonly file: string;
  readonly text: string;
}

/** A fault in a file, with its line counted from 1. */
export interface SourceFault {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const FOLDERS = ['src', 'sim', 'bench', 'test', 'scripts', 'examples'];

const DASHBOARD_FOLDER = join('dashboard', 'src');

/** Every TypeScript file of the project in a folder other than the dashboard, in the order of the paths. */
export const typescriptSources = (): SourceText[] => sourcesIn(FOLDERS);

/** Every TypeScript file of the dashboard, in the order of the paths. */
export const dashboardSources = (): SourceText[] => sourcesIn([DASHBOARD_FOLDER]);

function sourcesIn(folders: readonly string[]): SourceText[] {
  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .map((name) => join(folder, name))
        .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules')),
    )
    .sort()
    .map((file) => ({ file, text: readFileSync(file, 'utf8') }));
}

/** Prints the faults and sets the exit code. */
export function reportFaults(faults: readonly SourceFault[]): void {
  for (const { file, line, message } of faults) process.stderr.write(`${file}:${line}: ${message}.\n`);
  if (faults.length > 0) process.exitCode = 1;
}
