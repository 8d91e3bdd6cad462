import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answered, House, STORES, type StoreName } from '../../../test/support/house.js';
import { sha256Hex } from '../../coordinator/identity.js';
import { CLAIMS_SCOPE } from '../../coordinator/rooms.js';
import { importForeign } from '../../coordinator/transfer/import-foreign.js';
import { commitImported } from '../../coordinator/transfer/imported-events.js';
import { LogJudge } from '../../core/claims/log-judge.js';
import { coordinatorRemote } from './coordinator-remote.js';
import { isRefusal, type SyncPlace, type SyncRefusal } from './place.js';
import { type PullReport, pull } from './pull.js';
import { type PushReport, push } from './push.js';
import type { Remote } from './remote.js';
import { syncStatus } from './status.js';
import { folderOfATest, KEY, logOf, offline, opened, placeIn, quiet } from './testing/laptop.js';

const EDGE = { task_id: 'REQ-F-1#design_code' };
const OTHER = { task_id: 'REQ-F-2#design_code' };
const by = (agent_id: string) => ({ agent_id, session_id: `s-${agent_id}` });

interface Scene {
  readonly house: House;
  readonly remote: Remote;
  readonly place: SyncPlace;
}

async function scene(name: StoreName): Promise<Scene> {
  const house = await House.open(name);
  const { coordinator, store, blobs } = house;
  const remote = coordinatorRemote({ name: 'the office', coordinator, store, blobs, key: KEY });
  return { house, remote, place: placeIn(await folderOfATest('laptop', onTestFinished)) };
}

const pushed = (place: SyncPlace, remote: Remote): Promise<PushReport> =>
  opened(place, (local) => push(place, local, remote, new Map(), quiet)).then(fine);
const pulled = (place: SyncPlace, remote: Remote, keep_aside = false): Promise<PullReport> =>
  pull(place, remote, { ...quiet, keep_aside }).then(fine);

function fine<T extends object>(reply: T | SyncRefusal): T {
  if (isRefusal(reply)) throw new Error(reply.detail);
  return reply;
}

const converged = (generation: number, agent: string, result_data: unknown) => ({
  ...EDGE,
  session_id: `s-${agent}`,
  generation,
  result_data,
});
const iterated = (generation: number, agent: string) => ({
  event_type: 'iteration_completed',
  feature_id: 'REQ-F-1',
  edge: 'design_code',
  ...by(agent),
  generation,
  payload: { iteration: 1, status: 'iterating', delta: 2 },
});

/** Both logs are the same, and sound. */
async function inStep({ house, place }: Scene): Promise<void> {
  const log = await logOf(place);
  expect(log).toEqual(await house.events(KEY));
  const judge = new LogJudge();
  for (const event of log) expect(judge.see(event)).toEqual([]);
  await opened(place, async ({ store }) => {
    const page = { after: null, limit: 1000 };
    expect(await store.scanHeads(KEY, page)).toEqual(await house.store.scanHeads(KEY, page));
  });
}

describe.each(STORES)('a workspace and a coordinator (%s store)', (name) => {
  test('what happens there comes here, at the same positions, a bit at a time', async () => {
    const all = await scene(name);
    const { house, remote, place } = all;
    answered(await house.coordinator.claimTask(KEY, { ...EDGE, ...by('ada') }));
    expect(await pulled(place, remote)).toMatchObject({ received: 2, rebuilt: false, aside: null });
    await inStep(all);
    answered(await house.coordinator.submitResult(KEY, converged(1, 'ada', 'x'.repeat(100_000))));
    answered(await house.coordinator.claimTask(KEY, { ...OTHER, ...by('ada') }));
    expect(await pulled(place, remote)).toMatchObject({ received: 2 });
    await inStep(all);
    expect(await pulled(place, remote)).toMatchObject({ received: 0 });
    await opened(place, async ({ blobs }) => {
      const sha256 = (await logOfHouse(house, 'edge_converged'))?.payload.blob_sha256 as string;
      expect((await blobs.get(KEY.tenant_id, sha256))?.byteLength).toBe(100_002);
    });
    await opened(place, async ({ store }) => {
      expect(await store.occupancy(KEY.tenant_id, CLAIMS_SCOPE)).toBe(
        await house.store.occupancy(KEY.tenant_id, CLAIMS_SCOPE),
      );
    });
  });

  test('files of a result go with it, there and back', async () => {
    const { house, remote, place } = await scene(name);
    const text = Buffer.from('what the file is to become');
    const sha256 = sha256Hex(text);
    const file = { path: 'src/a.ts', sha256, size_bytes: text.length, executable: false, base_sha256: null };
    const manifest = { kind: 'files', files: [file], total_bytes: text.length };
    await offline(place, async (here) => {
      answered(await here.claimTask(KEY, { ...EDGE, ...by('ada') }));
      expect(await here.submitResult(KEY, converged(1, 'ada', manifest))).toMatchObject({
        problem: 'BLOB_MISSING',
      });
      answered(await here.putBlob(KEY.tenant_id, sha256, text));
      answered(await here.submitResult(KEY, converged(1, 'ada', manifest)));
    });
    expect(await pushed(place, remote)).toMatchObject({ sent: 2, refused: [] });
    expect(Buffer.from((await house.blobs.get(KEY.tenant_id, sha256)) ?? [])).toEqual(text);
    const elsewhere = placeIn(await folderOfATest('desk', onTestFinished));
    await pulled(elsewhere, remote);
    await opened(elsewhere, async ({ blobs }) =>
      expect(Buffer.from((await blobs.get(KEY.tenant_id, sha256)) ?? [])).toEqual(text),
    );
  });

  test('what was done offline is told there, and both are the same again', async () => {
    const all = await scene(name);
    const { house, remote, place } = all;
    answered(await house.coordinator.claimTask(KEY, { ...OTHER, ...by('bob') }));
    await pulled(place, remote);
    await offline(place, async (here) => {
      answered(await here.claimTask(KEY, { ...EDGE, ...by('ada') }));
      answered(await here.appendEvent(KEY, iterated(1, 'ada')));
      answered(await here.submitResult(KEY, converged(1, 'ada', 'y'.repeat(100_000))));
    });
    // Meanwhile the edge had a life of its own there: its next generation is another than here.
    answered(await house.coordinator.claimTask(KEY, { ...EDGE, ...by('eve') }));
    const release = { ...EDGE, session_id: 's-eve', expected_generation: 1 };
    answered(await house.coordinator.releaseClaim(KEY, release));
    const tail = (await logOf(place)).slice(2);
    const report = await pushed(place, remote);
    expect(report).toMatchObject({ from: 3, sent: 3, refused: [], not_sent: [] });
    expect(report.claims).toMatchObject([{ subject: EDGE.task_id, local_generation: 1, generation: 2 }]);
    expect(await pulled(place, remote)).toMatchObject({
      rebuilt: true,
      aside: expect.stringContaining('offline'),
    });
    await inStep(all);
    const told = await logOfHouse(house, 'iteration_completed');
    const said = tail.find(({ event_type }) => event_type === 'iteration_completed');
    expect(told).toMatchObject({
      event_id: said?.event_id,
      generation: 2,
      payload: { occurred_at: said?.timestamp },
    });
    const [aside = ''] = await readdir(join(place.events, 'offline'));
    const kept = (await readFile(join(place.events, 'offline', aside), 'utf8')).trimEnd().split('\n');
    expect(kept.map((line) => JSON.parse(line))).toEqual(tail);
  });

  test('an offline claim may be refused: nothing that rests on it is sent, and all of it is kept', async () => {
    const all = await scene(name);
    const { house, remote, place } = all;
    await offline(place, async (here) => {
      answered(await here.claimTask(KEY, { ...EDGE, ...by('ada') }));
      answered(await here.appendEvent(KEY, iterated(1, 'ada')));
      answered(await here.submitResult(KEY, converged(1, 'ada', 1)));
      answered(await here.claimTask(KEY, { ...OTHER, ...by('ada') }));
    });
    answered(await house.coordinator.claimTask(KEY, { ...EDGE, ...by('bob') }));
    const report = await pushed(place, remote);
    expect(report).toMatchObject({ sent: 1, refused_count: 1, not_sent_count: 2 });
    expect(report.refused).toMatchObject([
      { event_type: 'edge_started', reason: 'DENIED_ACTIVE_CLAIM', holder: 'bob' },
    ]);
    expect(report.not_sent.map(({ event_type }) => event_type)).toEqual([
      'iteration_completed',
      'edge_converged',
    ]);
    const { aside } = await pulled(place, remote);
    await inStep(all);
    expect(await readFile(aside ?? '', 'utf8')).toContain('edge_converged');
    expect((await logOf(place)).filter(({ event_type }) => event_type === 'claim_rejected')).toMatchObject([
      { agent_id: 'ada', payload: { holding_agent: 'bob' } },
    ]);
  });

  test('told twice it happens once, with the cursor and without it', async () => {
    const all = await scene(name);
    const { house, remote, place } = all;
    await offline(place, async (here) => {
      answered(await here.claimTask(KEY, { ...EDGE, ...by('ada') }));
      answered(await here.appendEvent(KEY, iterated(1, 'ada')));
      answered(await here.note(KEY, { ...EDGE, session_id: 's-ada', generation: 1, text: 'half way' }));
      answered(await here.releaseClaim(KEY, { ...EDGE, session_id: 's-ada', expected_generation: 1 }));
    });
    await pushed(place, remote);
    const before = await house.events(KEY);
    await pushed(place, remote);
    await rm(place.sync_file);
    await pushed(place, remote);
    expect(await house.events(KEY)).toEqual(before);
    await pulled(place, remote);
    await inStep(all);
  });

  test('a log that was deleted is built anew, however it was deleted', async () => {
    const all = await scene(name);
    const { house, remote, place } = all;
    answered(await house.coordinator.claimTask(KEY, { ...EDGE, ...by('ada') }));
    await pulled(place, remote);
    await rm(join(place.events, 'events.jsonl'));
    await pulled(place, remote);
    await inStep(all);
    await rm(place.events, { recursive: true });
    await pulled(place, remote);
    await inStep(all);
  });

  test('what other tools wrote is told there as it is', async () => {
    const all = await scene(name);
    const { remote, place } = all;
    const line = JSON.stringify({
      event_type: 'moon_phase',
      timestamp: '2025-12-01T10:00:00Z',
      feature: 'F',
    });
    async function* bytes() {
      yield Buffer.from(`${line}\nnot a line\n${line}\n`);
    }
    await opened(place, ({ store, blobs }) =>
      importForeign(
        bytes(),
        {
          put: (events) => commitImported(store, KEY, events),
          putBlob: (sha256, blob) => blobs.put(KEY.tenant_id, sha256, blob),
        },
        { ...KEY, source: 'old', now_ms: quiet.now_ms, known_edges: null },
      ),
    );
    expect(await pushed(place, remote)).toMatchObject({ sent: 3, refused: [], not_sent: [] });
    await pulled(place, remote);
    await inStep(all);
    expect(await logOf(place)).toHaveLength(3);
  });
});

describe('a pull', () => {
  test('demands that what was done offline is told first, or put aside', async () => {
    const all = await scene('memory');
    const { remote, place } = all;
    await offline(place, async (here) => answered(await here.claimTask(KEY, { ...EDGE, ...by('ada') })));
    expect(await pull(place, remote, { ...quiet, keep_aside: false })).toMatchObject({
      refused: 'TAIL_NOT_PUSHED',
    });
    expect(await pulled(place, remote, true)).toMatchObject({ position: 0, rebuilt: true });
    await inStep(all);
  });

  test('of what was done after the push is refused until it is pushed too', async () => {
    const all = await scene('memory');
    const { remote, place } = all;
    await offline(place, async (here) => answered(await here.claimTask(KEY, { ...EDGE, ...by('ada') })));
    await pushed(place, remote);
    await offline(place, async (here) => answered(await here.claimTask(KEY, { ...OTHER, ...by('ada') })));
    expect(await pull(place, remote, { ...quiet, keep_aside: false })).toMatchObject({
      refused: 'TAIL_NOT_PUSHED',
    });
    await pushed(place, remote);
    await pulled(place, remote);
    await inStep(all);
  });

  test('from a log that is not the one before is refused, and nothing is changed', async () => {
    const { house, remote, place } = await scene('memory');
    answered(await house.coordinator.claimTask(KEY, { ...EDGE, ...by('ada') }));
    await pulled(place, remote);
    const before = await logOf(place);
    const { house: restored } = await scene('memory');
    const { coordinator, store, blobs } = restored;
    const other = coordinatorRemote({ name: 'the office', coordinator, store, blobs, key: KEY });
    expect(await pull(place, other, { ...quiet, keep_aside: true })).toMatchObject({
      refused: 'REMOTE_DIFFERS',
    });
    for (const agent of ['x', 'y']) await coordinator.claimTask(KEY, { ...EDGE, ...by(agent) });
    expect(await pull(place, other, { ...quiet, keep_aside: true })).toMatchObject({
      refused: 'REMOTE_DIFFERS',
    });
    expect(await logOf(place)).toEqual(before);
  });
});

test('status says how far apart they are, and warns of old news', async () => {
  const { house, remote, place } = await scene('memory');
  const status = (now_ms = quiet.now_ms) =>
    opened(place, (local) => syncStatus(place, local, remote, now_ms)).then(fine);
  expect(await status()).toMatchObject({ tail: 0, behind: 0, warning: expect.stringContaining('never') });
  await pulled(place, remote);
  answered(await house.coordinator.claimTask(KEY, { ...EDGE, ...by('ada') }));
  await offline(place, async (here) => answered(await here.claimTask(KEY, { ...OTHER, ...by('bob') })));
  expect(await status()).toMatchObject({
    tail: 2,
    behind: 2,
    pushed: false,
    warning: null,
    replicated_position: 0,
  });
  expect(await status(quiet.now_ms + 3601_000)).toMatchObject({
    warning: expect.stringContaining('an hour'),
  });
  await writeFile(place.sync_file, 'nonsense: [');
  expect(await status()).toMatchObject({ tail: 2, behind: 2 });
});

const logOfHouse = async (house: House, event_type: string) =>
  (await house.events(KEY)).findLast((event) => event.event_type === event_type);
