import { mkdir, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { bareWorkspace, drop, EDGE, FEATURE, namesIn, outcome, Site } from '../testing/site.js';
import { BROKEN_MAX } from './broken.js';
import { OUTCOMES_KEPT } from './mail.js';

const claim = { event_type: 'edge_claim', feature: FEATURE, edge: EDGE };

it('keeps the newest outcomes of an agent, and lets the oldest go', async () => {
  const workspace = await bareWorkspace();
  const site = await Site.open(workspace);
  const folder = workspace.path('events', 'outcome', 'a-01');
  await mkdir(folder, { recursive: true });
  const old = Array.from(
    { length: OUTCOMES_KEPT + 100 },
    (_, at) => `old-${String(at).padStart(5, '0')}.json`,
  );
  for (const name of old) await writeFile(`${folder}/${name}`, '{}');
  await drop(workspace, 'a-01', 'new.json', claim);
  await site.serialiser.pass();
  const names = await namesIn(workspace, 'outcome', 'a-01');
  expect(names).toHaveLength(OUTCOMES_KEPT);
  expect(names).toContain('new.json');
  expect(names).not.toContain(old[0]);
  expect(names).toContain(old.at(-1));
});

it('stops an agent that has sent too much that is no command, until a person has looked', async () => {
  const workspace = await bareWorkspace();
  const site = await Site.open(workspace);
  const folder = workspace.path('events', 'broken', 'eve');
  await mkdir(folder, { recursive: true });
  for (let at = 0; at < BROKEN_MAX; at += 1) await writeFile(`${folder}/${at}.json`, '');
  await drop(workspace, 'eve', '1.json', 'no command');
  await drop(workspace, 'eve', '2.json', { ...claim, feature: 'F-2' });
  await drop(workspace, 'good', '1.json', claim);
  expect((await site.serialiser.pass()).toJSON()).toMatchObject({ outcomes: { GRANTED: 1 }, broken: 0 });
  expect(await namesIn(workspace, 'inbox', 'eve')).toEqual(['1.json', '2.json']);
  expect(site.warnings).toEqual([expect.stringContaining('is full')]);
});

it('takes the drafts of an agent for its result, and brings them into the project', async () => {
  const workspace = await bareWorkspace();
  const site = await Site.open(workspace);
  await drop(workspace, 'a-01', '1.json', claim);
  await drop(workspace, 'a-01', '2.json', {
    event_type: 'edge_converged',
    feature: FEATURE,
    edge: EDGE,
    generation: 1,
  });
  expect((await site.serialiser.pass()).outcomes).toEqual({ GRANTED: 1, NO_DRAFTS: 1 });
  expect((await outcome(workspace, 'a-01', '2.json')).reply.next).toContain('drafts folder');
  const drafts = workspace.path(
    'agents',
    'a-01',
    'drafts',
    '%52%45%51-%46-%41%55%54%48-001',
    'design_code',
    'src',
  );
  await mkdir(drafts, { recursive: true });
  await writeFile(`${drafts}/auth.ts`, 'export {};\n');
  await drop(workspace, 'a-01', '3.json', {
    event_type: 'edge_converged',
    feature: FEATURE,
    edge: EDGE,
    generation: 1,
  });
  expect((await site.serialiser.pass()).outcomes).toEqual({ ACCEPTED: 1 });
  expect(await namesIn(workspace, '..', '..', 'src')).toEqual(['auth.ts']);
});
