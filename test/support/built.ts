import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the program as it is published, file by file. */
    built: string;
  }
}

const FOLDERS = '.mutants';

/** Once for all tests that start the program: to read TypeScript takes a process longer than most of what it then does. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await newFolder('built-');
  await buildProgram('src', folder);
  project.provide('built', folder);
  return () => rm(folder, { recursive: true, force: true });
}

/** Within the repository, so that what is built there finds its libraries. */
export async function newFolder(prefix: string): Promise<string> {
  await mkdir(FOLDERS, { recursive: true });
  return resolve(await mkdtemp(join(FOLDERS, prefix)));
}

export async function buildProgram(source: string, folder: string): Promise<void> {
  const files = await readdir(source, { recursive: true });
  const isPart = (file: string): boolean => file.endsWith('.ts') && !file.endsWith('.test.ts');
  await build({
    entryPoints: files.filter(isPart).map((file) => join(source, file)),
    outbase: source,
    outdir: join(folder, 'dist'),
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  await cp('package.json', join(folder, 'package.json'));
}
