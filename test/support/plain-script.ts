import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { transform } from 'esbuild';
import { inject } from 'vitest';

/**
 * Transpiles a TypeScript program to JavaScript inside the built package, which it may import by name. Run from its
 * source, a process would take three times as long to start.
 */
export async function plainScript(program: string): Promise<string> {
  const script = join(await mkdtemp(join(inject('built'), 'script-')), 'program.mjs');
  await writeFile(script, (await transform(await readFile(program, 'utf8'), { loader: 'ts' })).code);
  return script;
}
