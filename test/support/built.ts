import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';
import { copyAssets } from '../../scripts/assets.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of the built program, file by file as it is published. */
    built: string;
  }
}

const TEMPORARY_FOLDER = '.mutants';

/**
 * Builds once for all tests that start the program: a process takes longer to load TypeScript than to do most of its
 * work.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await newFolder('built-');
  await buildProgram('src', folder);
  project.provide('built', folder);
  return () => rm(folder, { recursive: true, force: true });
}

/** Inside the repository, so that the build finds its libraries. */
export async function newFolder(prefix: string): Promise<string> {
  await mkdir(TEMPORARY_FOLDER, { recursive: true });
  return resolve(await mkdtemp(join(TEMPORARY_FOLDER, prefix)));
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
  copyAssets(source, join(folder, 'dist'));
  await cp('package.json', join(folder, 'package.json'));
}
