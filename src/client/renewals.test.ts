import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { expectBusyAgentToKeepItsClaim } from './testing/busy.js';
import { openClientHarness, planOf, startChild, tempFolder } from './testing/client-harness.js';
import type { WorkSummary } from './work-options.js';

const AGENT = join(import.meta.dirname, 'testing', 'agent.child.ts');
const RENEWER = join(import.meta.dirname, 'renewer.worker.ts');

/** Builds an agent with the worker's file beside it, as in a package, or without it, as bundlers leave it. */
async function built(parts: Readonly<Record<string, string>>): Promise<string> {
  const folder = await tempFolder();
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const common = { bundle: true, platform: 'node', format: 'esm' } as const;
  for (const [name, entry] of Object.entries(parts)) {
    await build({ ...common, entryPoints: [entry], outfile: join(folder, name) });
  }
  return join(folder, 'agent.js');
}

test('from its sources, the renewals have a thread of their own: a handler that is busy for longer than its lease keeps its claim', async () => {
  await expectBusyAgentToKeepItsClaim(AGENT);
});

test('built, the renewals have a thread of their own: a handler that is busy for longer than its lease keeps its claim', async () => {
  const program = await built({ 'agent.js': AGENT, 'renewer.worker.js': RENEWER });
  expect(await expectBusyAgentToKeepItsClaim(program)).toBe('');
});

test('in a bundle without the thread’s file, renewals go on in the main thread, and it says so', async () => {
  const { server, outbox } = await openClientHarness(planOf({ A: 1 }));
  const child = startChild(await built({ 'agent.js': AGENT }), [server.url, outbox]);
  expect(await child.nextLine()).toBe('working A-001-part');
  const summary = JSON.parse((await child.nextLine()) ?? '') as WorkSummary;
  expect(summary).toMatchObject({ accepted: 1 });
  expect(await child.stderrText()).toContain('Renewals run on the main thread');
});
