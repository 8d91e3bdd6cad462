import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import { expect, test } from 'vitest';
import {
  builtFile,
  openClientHarness,
  planTextOf,
  startChild,
  tempFolder,
} from './testing/client-harness.js';

const ROOT = join(import.meta.dirname, '..', '..');

test('the snippets of docs/sdk.md run in order', async () => {
  const { server, outbox } = await openClientHarness(planTextOf({ A: 1 }));
  const folder = await tempFolder();
  const client = pathToFileURL(builtFile('index.js')).href;
  const text = await readFile(join(ROOT, 'docs', 'sdk.md'), 'utf8');
  const snippets = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  expect(snippets).toHaveLength(6);
  const printedLines: (string | null)[] = [];
  for (const [n, snippet] of snippets.entries()) {
    const file = join(folder, `${n}.mjs`);
    const { code } = await transform(snippet, { loader: 'ts' });
    await writeFile(file, code.replaceAll('"genesis-fleet"', `'${client}'`));
    const child = startChild(file, [], { GENESIS_URL: server.url, XDG_STATE_HOME: outbox });
    printedLines.push(await child.nextLine());
    expect(await child.stderrText()).toBe('');
  }
  expect(printedLines.slice(0, 4)).toEqual([
    '2 accepted, 0 refused',
    '0 converged, 0 for a person',
    'B-001-schema accepted',
    'ACCEPTED',
  ]);
});
