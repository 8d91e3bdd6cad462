import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { renewalDelayMs } from './renewer.js';
import { openClientHarness, planTextOf, startChild, tempFolder } from './testing/client-harness.js';
import { expectBusyAgentToKeepItsClaim } from './testing/expect-busy-agent-keeps-claim.js';
import type { WorkSummary } from './work-options.js';

const AGENT = join(import.meta.dirname, 'testing', 'agent.child.ts');
const RENEWER = join(import.meta.dirname, 'renewer.worker.ts');

/** Bundles each program into a file of a new folder, as a package or a bundler does. Returns the path of its agent. */
async function buildFolder(programs: Readonly<Record<string, string>>): Promise<string> {
  const folder = await tempFolder();
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const common = { bundle: true, platform: 'node', format: 'esm' } as const;
  for (const [name, entry] of Object.entries(programs)) {
    await build({ ...common, entryPoints: [entry], outfile: join(folder, name) });
  }
  return join(folder, 'agent.js');
}

// req: LSE-010, LSE-011
test('a lease is renewed at about 40 percent of its duration, spread so that a fleet does not renew at once', () => {
  const delays = [0, 0.5, 1].map((random) => renewalDelayMs(1000, random));
  expect(delays.map(Math.round)).toEqual([360, 400, 440]);
});

// req: SDK-002
test('from source, renewals have their own thread: a handler that blocks past its lease keeps its claim', async () => {
  await expectBusyAgentToKeepItsClaim(AGENT);
});

test('when built, renewals have their own thread: a handler that blocks past its lease keeps its claim', async () => {
  const program = await buildFolder({ 'agent.js': AGENT, 'renewer.worker.js': RENEWER });
  expect(await expectBusyAgentToKeepItsClaim(program)).toBe('');
});

test('in a bundle without the worker file, renewals run on the main thread, with a warning', async () => {
  const { server, outbox } = await openClientHarness(planTextOf({ A: 1 }));
  const child = startChild(await buildFolder({ 'agent.js': AGENT }), [server.url, outbox]);
  expect(await child.nextLine()).toBe('working A-001-part');
  const summary = JSON.parse((await child.nextLine()) ?? '') as WorkSummary;
  expect(summary).toMatchObject({ accepted: 1 });
  expect(await child.stderrText()).toContain('Renewals run on the main thread');
});
