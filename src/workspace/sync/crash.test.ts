import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { answered } from '../../../test/support/house.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { FolderBlobs } from '../../stores/file/folder-blobs.js';
import { childProgram } from '../testing/child-program.js';
import { folderOfATest, KEY, logOf, offline, placeIn } from './testing/laptop.js';

const syncing = childProgram(join(import.meta.dirname, 'sync.child.ts'));

const EDGE = { task_id: 'REQ-F-1#design_code' };
const OTHER = { task_id: 'REQ-F-2#design_code' };
const by = (agent_id: string) => ({ agent_id, session_id: `s-${agent_id}` });

/** Until its end, or its death at a step. */
async function run(...args: string[]): Promise<{ signal: string | null; step: string }> {
  const { lines, ended } = syncing(...args);
  let step = '';
  for await (const line of lines) step += line;
  const { code, signal } = await ended;
  if (code !== 0 && signal === null) throw new Error(`it ended with ${code}`);
  return { signal, step };
}

async function inOffice<T>(office: string, work: (coordinator: Coordinator) => Promise<T>): Promise<T> {
  const store = await openFileStore({ root: join(office, 'store') });
  const coordinator = await Coordinator.open({ store, blobs: new FolderBlobs(join(office, 'blobs')) });
  try {
    return await work(coordinator);
  } finally {
    coordinator.close();
    await store.close();
  }
}

async function officeLog(office: string): Promise<EventEnvelope[]> {
  const store = await openFileStore({ root: join(office, 'store') });
  const events = await store.events(KEY, { after: 0, limit: 1000 });
  await store.close();
  return events;
}

test('killed at any step, and run again, it ends as if it had never been', { timeout: 600_000 }, async () => {
  const seen: string[] = [];
  for (let dies_at = 1; ; dies_at += 1) {
    const folder = await folderOfATest('laptop', onTestFinished);
    const office = await folderOfATest('office', onTestFinished);
    const place = placeIn(folder);
    await inOffice(office, async (there) => answered(await there.claimTask(KEY, { ...OTHER, ...by('bob') })));
    await offline(place, async (here) => {
      answered(await here.claimTask(KEY, { ...EDGE, ...by('ada') }));
      answered(await here.claimTask(KEY, { ...OTHER, ...by('ada') }));
      const result = { ...EDGE, session_id: 's-ada', generation: 1, result_data: 'y'.repeat(100_000) };
      answered(await here.submitResult(KEY, result));
    });
    const { signal, step } = await run(folder, office, String(dies_at));
    if (signal === null) break;
    seen.push(step);
    await run(folder, office);
    const log = await officeLog(office);
    expect(await logOf(place), step).toEqual(log);
    const story = log.filter(({ subject }) => subject?.startsWith('REQ')).map(({ event_type }) => event_type);
    expect(story, step).toEqual(['edge_started', 'edge_started', 'claim_rejected', 'edge_converged']);
    expect(await readdir(join(place.events, 'offline')), step).toHaveLength(1);
    expect(
      (await readdir(place.events)).filter((name) => name.startsWith('.')),
      step,
    ).toEqual([]);
  }
  expect(seen).toEqual(
    expect.arrayContaining(['send 2', 'pushed', 'aside', 'rebuilt', 'in events.jsonl', 'pulled']),
  );
});
