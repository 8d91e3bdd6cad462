import { dirname, relative } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { ROOT } from './bundle.js';

/** What each file imports at run time. */
export type ImportGraph = Readonly<Record<string, Pick<Metafile['inputs'][string], 'imports'>>>;

/** The imports of the tests and of everything they import, without imports of types. */
export async function importGraphOf(tests: readonly string[]): Promise<ImportGraph> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [...tests],
    bundle: true,
    // Without splitting, every test would get a copy of all that it imports.
    splitting: true,
    outdir: 'dist',
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'silent',
  });
  return metafile.inputs;
}

/** The tests that load a file, the nearest first: the test beside it, then tests in its folder, then the others. */
export function reachingTests(graph: ImportGraph, tests: readonly string[], file: string): string[] {
  const loaders = loadersOf(graph, file);
  const distance = (test: string): number =>
    test === file.replace(/\.ts$/, '.test.ts') ? -1 : stepsBetween(dirname(file), dirname(test));
  return tests
    .filter((test) => loaders.has(test))
    .sort((a, b) => distance(a) - distance(b) || (a < b ? -1 : 1));
}

const stepsBetween = (from: string, to: string): number =>
  relative(from, to)
    .split('/')
    .filter((step) => step !== '').length;

/** The file, and every file that imports it directly or through others. */
function loadersOf(graph: ImportGraph, file: string): ReadonlySet<string> {
  const importers = new Map<string, string[]>();
  for (const [importer, { imports }] of Object.entries(graph)) {
    for (const { path } of imports) importers.set(path, [...(importers.get(path) ?? []), importer]);
  }
  const loaders = new Set([file]);
  for (const loader of loaders) for (const importer of importers.get(loader) ?? []) loaders.add(importer);
  return loaders;
}
