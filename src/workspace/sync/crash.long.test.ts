import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unwrap } from '../../../test/support/coordinator-harness.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { openFileStore } from '../../stores/file/file-store.js';
import { FolderBlobs } from '../../stores/file/folder-blobs.js';
import { childProgram } from '../testing/child-program.js';
import {
  agentFields,
  EDGE,
  KEY,
  OTHER_EDGE,
  readWorkspaceLog,
  syncWorkspaceIn,
  workOffline,
} from './testing/sync-harness.js';
import { syncOnce } from './testing/sync-once.js';

const startSync = childProgram(join(import.meta.dirname, 'sync.child.ts'));

/** Runs a sync to its end, or until it dies at a step. */
async function syncAndDie(
  folder: string,
  office: string,
  killStep: number,
): Promise<{ signal: string | null; step: string }> {
  const { lines, ended } = startSync(folder, office, String(killStep));
  let step = '';
  for await (const line of lines) step += line;
  const { code, signal } = await ended;
  if (code !== 0 && signal === null) throw new Error(`The sync ended with code ${code}.`);
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

/** The folders of a laptop and of an office, which were disconnected while both wrote events. */
async function createOfflineWork(): Promise<{ folder: string; office: string }> {
  const folder = await temporaryFolder();
  const office = await temporaryFolder();
  await inOffice(office, async (coordinator) => {
    unwrap(await coordinator.plans.put(KEY, { tracks: {} }));
    expect(await coordinator.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('bob') })).toMatchObject({
      success: true,
    });
  });
  await workOffline(syncWorkspaceIn(folder), async (offline) => {
    unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
    unwrap(await offline.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('ada') }));
    const result = { ...EDGE, session_id: 's-ada', generation: 1, result_data: 'y'.repeat(100_000) };
    unwrap(await offline.holder.submitResult(KEY, result));
  });
  return { folder, office };
}

test('reaches the same result when a sync is killed at any step and run again', async () => {
  const killedSteps: string[] = [];
  const offlineWork = await createOfflineWork();
  const offlineIds = (await readWorkspaceLog(syncWorkspaceIn(offlineWork.folder)))
    .filter(({ event_type }) => event_type.startsWith('edge_'))
    .map(({ event_id }) => event_id);
  for (let killStep = 1; ; killStep += 1) {
    const folder = await temporaryFolder();
    const office = await temporaryFolder();
    const workspace = syncWorkspaceIn(folder);
    await cp(offlineWork.folder, folder, { recursive: true });
    await cp(offlineWork.office, office, { recursive: true });
    const { signal, step } = await syncAndDie(folder, office, killStep);
    if (signal === null) break;
    killedSteps.push(step);
    await syncOnce(folder, office);
    const log = await officeLog(office);
    expect(await readWorkspaceLog(workspace), step).toEqual(log);
    const eventTypes = log
      .filter(({ subject }) => subject?.startsWith('REQ'))
      .map(({ event_type }) => event_type);
    expect(eventTypes, step).toEqual(['edge_started', 'edge_started', 'claim_rejected', 'edge_converged']);
    // ada's claim of `OTHER_EDGE` is refused, because the office has granted the edge to bob. The `request_id` of the refusal
    // is the event id of that claim.
    const arrivedIds = log.filter(({ agent_id, seq }) => agent_id === 'ada' && seq !== undefined);
    expect(
      arrivedIds.filter(({ event_type }) => event_type.startsWith('edge_')).map(({ event_id }) => event_id),
      step,
    ).toEqual([offlineIds[0], offlineIds[2]]);
    expect(log.find(({ event_type }) => event_type === 'claim_rejected')?.request_id, step).toBe(
      offlineIds[1],
    );
    expect(await readdir(join(workspace.events, 'offline')), step).toHaveLength(1);
    expect(
      (await readdir(workspace.events)).filter((name) => name.startsWith('.')),
      step,
    ).toEqual([]);
  }
  expect(killedSteps).toEqual(
    expect.arrayContaining(['send 2', 'pushed', 'aside', 'rebuilt', 'in events.jsonl', 'pulled']),
  );
});
