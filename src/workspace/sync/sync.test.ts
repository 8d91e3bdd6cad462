import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  CoordinatorHarness,
  STORES,
  type TestStoreName,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { CLAIMS_SCOPE } from '../../coordinator/queue/permit-limits.js';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { importForeign } from '../../coordinator/transfer/import-foreign.js';
import { commitImported } from '../../coordinator/transfer/imported-events.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import { type PullReport, pull } from './pull.js';
import { type PushReport, push } from './push.js';
import type { SyncRemote } from './remote.js';
import { syncStatus } from './status.js';
import { storeRemote } from './store-remote.js';
import { isSyncRefusal, type SyncRefusal, type SyncWorkspace } from './sync-workspace.js';
import {
  agentFields,
  EDGE,
  KEY,
  OTHER_EDGE,
  quietOptions,
  readWorkspaceLog,
  syncWorkspaceIn,
  withLocalLog,
  workOffline,
} from './testing/sync-harness.js';

interface SyncScenario {
  readonly harness: CoordinatorHarness;
  readonly remote: SyncRemote;
  readonly workspace: SyncWorkspace;
}

async function openSyncScenario(name: TestStoreName): Promise<SyncScenario> {
  const harness = await CoordinatorHarness.open(name, { home: KEY });
  const { coordinator, store, blobs } = harness;
  const remote = storeRemote({ name: 'the office', coordinator, store, blobs, key: KEY });
  return { harness, remote, workspace: syncWorkspaceIn(await temporaryFolder()) };
}

const pushValid = (workspace: SyncWorkspace, remote: SyncRemote): Promise<PushReport> =>
  withLocalLog(workspace, (local) =>
    push(workspace, local, remote, { files: new Map(), unreadable: new Map() }, quietOptions),
  ).then(unwrapSync);
const pullValid = (
  workspace: SyncWorkspace,
  remote: SyncRemote,
  may_replace_unpushed = false,
): Promise<PullReport> => pull(workspace, remote, { ...quietOptions, may_replace_unpushed }).then(unwrapSync);

function unwrapSync<T extends object>(reply: T | SyncRefusal): T {
  if (isSyncRefusal(reply)) throw new Error(reply.detail);
  return reply;
}

const convergeBody = (generation: number, agent: string, result_data: unknown) => ({
  ...EDGE,
  session_id: `s-${agent}`,
  generation,
  result_data,
});
const iterationBody = (generation: number, agent: string) => ({
  event_type: 'iteration_completed',
  feature_id: 'REQ-F-1',
  edge: 'design_code',
  ...agentFields(agent),
  generation,
  payload: { iteration: 1, status: 'iterating', delta: 2 },
});

/** Asserts that both logs are equal and valid. */
async function expectEqualLogs({ harness, workspace }: SyncScenario): Promise<void> {
  const log = await readWorkspaceLog(workspace);
  expect(log).toEqual(await harness.events(KEY));
  const checker = new PolicyAwareLogChecker();
  for (const event of log) expect(checker.checkEvent(event)).toEqual([]);
  await withLocalLog(workspace, async ({ store }) => {
    const page = { after: null, limit: 1000 };
    expect(await store.scanHeads(KEY, page)).toEqual(await harness.store.scanHeads(KEY, page));
  });
}

describe.each(STORES)('a workspace and a coordinator (%s store)', (name) => {
  // req: SYN-001
  test('pulls remote events incrementally, at the same positions', async () => {
    const scenario = await openSyncScenario(name);
    const { harness, remote, workspace } = scenario;
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
    expect(await pullValid(workspace, remote)).toMatchObject({ received: 2, rebuilt: false, aside: null });
    await expectEqualLogs(scenario);
    unwrap(await harness.coordinator.holder.submitResult(KEY, convergeBody(1, 'ada', 'x'.repeat(100_000))));
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('ada') }));
    expect(await pullValid(workspace, remote)).toMatchObject({ received: 2 });
    await expectEqualLogs(scenario);
    expect(await pullValid(workspace, remote)).toMatchObject({ received: 0 });
    await withLocalLog(workspace, async ({ blobs }) => {
      const sha256 = (await eventOfType(harness, 'edge_converged'))?.payload.blob_sha256 as string;
      expect((await blobs.get(KEY.tenant_id, sha256))?.byteLength).toBe(100_002);
    });
    await withLocalLog(workspace, async ({ store }) => {
      expect(await store.countPermits(KEY.tenant_id, CLAIMS_SCOPE)).toBe(
        await harness.store.countPermits(KEY.tenant_id, CLAIMS_SCOPE),
      );
    });
  });

  test('transfers the files of a result in both directions', async () => {
    const { harness, remote, workspace } = await openSyncScenario(name);
    const text = Buffer.from('what the file is to become');
    const sha256 = sha256Hex(text);
    const file = { path: 'src/a.ts', sha256, size_bytes: text.length, executable: false, base_sha256: null };
    const manifest = { kind: 'files', files: [file], total_bytes: text.length };
    await workOffline(workspace, async (offline) => {
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
      expect(await offline.holder.submitResult(KEY, convergeBody(1, 'ada', manifest))).toMatchObject({
        problem: 'BLOB_MISSING',
      });
      unwrap(await offline.blobs.putBlob(KEY.tenant_id, sha256, text));
      unwrap(await offline.holder.submitResult(KEY, convergeBody(1, 'ada', manifest)));
    });
    expect(await pushValid(workspace, remote)).toMatchObject({ sent: 2, refused: [] });
    expect(Buffer.from((await harness.blobs.get(KEY.tenant_id, sha256)) ?? [])).toEqual(text);
    const otherWorkspace = syncWorkspaceIn(await temporaryFolder());
    await pullValid(otherWorkspace, remote);
    await withLocalLog(otherWorkspace, async ({ blobs }) =>
      expect(Buffer.from((await blobs.get(KEY.tenant_id, sha256)) ?? [])).toEqual(text),
    );
  });

  // req: SYN-002, SYN-004
  test('pushes offline work, after which both logs are equal', async () => {
    const scenario = await openSyncScenario(name);
    const { harness, remote, workspace } = scenario;
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('bob') }));
    await pullValid(workspace, remote);
    await workOffline(workspace, async (offline) => {
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
      unwrap(await offline.holder.appendEvent(KEY, iterationBody(1, 'ada')));
      unwrap(await offline.holder.submitResult(KEY, convergeBody(1, 'ada', 'y'.repeat(100_000))));
    });
    // Meanwhile the remote's edge was claimed and released, so its next generation differs from the local one.
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('eve') }));
    const release = { ...EDGE, session_id: 's-eve', expected_generation: 1 };
    unwrap(await harness.coordinator.holder.releaseClaim(KEY, release));
    const offlineEvents = (await readWorkspaceLog(workspace)).slice(2);
    const report = await pushValid(workspace, remote);
    expect(report).toMatchObject({ from: 3, sent: 3, refused: [], not_sent: [] });
    expect(report.claims).toMatchObject([{ subject: EDGE.task_id, local_generation: 1, generation: 2 }]);
    expect(await pullValid(workspace, remote)).toMatchObject({
      rebuilt: true,
      aside: expect.stringContaining('offline'),
    });
    await expectEqualLogs(scenario);
    const shared = await eventOfType(harness, 'iteration_completed');
    const local = offlineEvents.find(({ event_type }) => event_type === 'iteration_completed');
    expect(shared).toMatchObject({
      event_id: local?.event_id,
      generation: 2,
      // The clock of the office is behind. It records its own time instead of one that is in its future.
      payload: { occurred_at: shared?.timestamp },
    });
    const [aside = ''] = await readdir(join(workspace.events, 'offline'));
    const savedLines = (await readFile(join(workspace.events, 'offline', aside), 'utf8'))
      .trimEnd()
      .split('\n');
    expect(savedLines.map((line) => JSON.parse(line))).toEqual(offlineEvents);
  });

  // req: SYN-005
  test('sends nothing that depends on a refused offline claim, and keeps all of it', async () => {
    const scenario = await openSyncScenario(name);
    const { harness, remote, workspace } = scenario;
    await workOffline(workspace, async (offline) => {
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
      unwrap(await offline.holder.appendEvent(KEY, iterationBody(1, 'ada')));
      unwrap(await offline.holder.submitResult(KEY, convergeBody(1, 'ada', 1)));
      unwrap(await offline.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('ada') }));
    });
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('bob') }));
    const report = await pushValid(workspace, remote);
    expect(report).toMatchObject({ sent: 1, refused_count: 1, not_sent_count: 2 });
    expect(report.refused).toMatchObject([
      { event_type: 'edge_started', reason: 'DENIED_ACTIVE_CLAIM', holder: 'bob' },
    ]);
    expect(report.not_sent.map(({ event_type }) => event_type)).toEqual([
      'iteration_completed',
      'edge_converged',
    ]);
    const { aside } = await pullValid(workspace, remote);
    await expectEqualLogs(scenario);
    expect(await readFile(aside ?? '', 'utf8')).toContain('edge_converged');
    expect(
      (await readWorkspaceLog(workspace)).filter(({ event_type }) => event_type === 'claim_rejected'),
    ).toMatchObject([{ agent_id: 'ada', payload: { holding_agent: 'bob' } }]);
  });

  // req: SYN-003
  test('applies events once when they are pushed twice, with and without the cursor', async () => {
    const scenario = await openSyncScenario(name);
    const { harness, remote, workspace } = scenario;
    await workOffline(workspace, async (offline) => {
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
      unwrap(await offline.holder.appendEvent(KEY, iterationBody(1, 'ada')));
      unwrap(
        await offline.holder.note(KEY, { ...EDGE, session_id: 's-ada', generation: 1, text: 'half way' }),
      );
      unwrap(
        await offline.holder.releaseClaim(KEY, { ...EDGE, session_id: 's-ada', expected_generation: 1 }),
      );
    });
    await pushValid(workspace, remote);
    const before = await harness.events(KEY);
    await pushValid(workspace, remote);
    await rm(workspace.sync_file);
    await pushValid(workspace, remote);
    expect(await harness.events(KEY)).toEqual(before);
    await pullValid(workspace, remote);
    await expectEqualLogs(scenario);
  });

  // req: SYN-006
  test('rebuilds a deleted log, however it was deleted', async () => {
    const scenario = await openSyncScenario(name);
    const { harness, remote, workspace } = scenario;
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
    await pullValid(workspace, remote);
    await rm(join(workspace.events, 'events.jsonl'));
    await pullValid(workspace, remote);
    await expectEqualLogs(scenario);
    await rm(workspace.events, { recursive: true });
    await pullValid(workspace, remote);
    await expectEqualLogs(scenario);
  });

  test('pushes events of other tools unchanged', async () => {
    const scenario = await openSyncScenario(name);
    const { remote, workspace } = scenario;
    const line = JSON.stringify({
      event_type: 'moon_phase',
      timestamp: '2025-12-01T10:00:00Z',
      feature: 'F',
    });
    async function* lineBytes() {
      yield Buffer.from(`${line}\nnot a line\n${line}\n`);
    }
    await withLocalLog(workspace, ({ store, blobs }) =>
      importForeign(
        lineBytes(),
        {
          put: async (events) => unwrap(await commitImported(store, KEY, events)),
          putBlob: (sha256, blob) => blobs.put(KEY.tenant_id, sha256, blob),
        },
        { ...KEY, source: 'old', now_ms: quietOptions.now_ms, known_edges: null },
      ),
    );
    expect(await pushValid(workspace, remote)).toMatchObject({ sent: 3, refused: [], not_sent: [] });
    await pullValid(workspace, remote);
    await expectEqualLogs(scenario);
    expect(await readWorkspaceLog(workspace)).toHaveLength(3);
  });
});

describe('a pull', () => {
  test('requires that offline work is pushed first or saved to a file', async () => {
    const scenario = await openSyncScenario('memory');
    const { remote, workspace } = scenario;
    await workOffline(workspace, async (offline) =>
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') })),
    );
    expect(await pull(workspace, remote, { ...quietOptions, may_replace_unpushed: false })).toMatchObject({
      refused: 'TAIL_NOT_PUSHED',
    });
    expect(await pullValid(workspace, remote, true)).toMatchObject({ position: 0, rebuilt: true });
    await expectEqualLogs(scenario);
  });

  test('is refused while work after the last push is not pushed', async () => {
    const scenario = await openSyncScenario('memory');
    const { remote, workspace } = scenario;
    await workOffline(workspace, async (offline) =>
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') })),
    );
    await pushValid(workspace, remote);
    await workOffline(workspace, async (offline) =>
      unwrap(await offline.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('ada') })),
    );
    expect(await pull(workspace, remote, { ...quietOptions, may_replace_unpushed: false })).toMatchObject({
      refused: 'TAIL_NOT_PUSHED',
    });
    await pushValid(workspace, remote);
    await pullValid(workspace, remote);
    await expectEqualLogs(scenario);
  });

  test('from another log than before is refused and changes nothing', async () => {
    const { harness, remote, workspace } = await openSyncScenario('memory');
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
    await pullValid(workspace, remote);
    const before = await readWorkspaceLog(workspace);
    const { harness: restored } = await openSyncScenario('memory');
    const { coordinator, store, blobs } = restored;
    const other = storeRemote({ name: 'the office', coordinator, store, blobs, key: KEY });
    expect(await pull(workspace, other, { ...quietOptions, may_replace_unpushed: true })).toMatchObject({
      refused: 'REMOTE_DIFFERS',
    });
    for (const agent of ['x', 'y'])
      await coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields(agent) });
    expect(await pull(workspace, other, { ...quietOptions, may_replace_unpushed: true })).toMatchObject({
      refused: 'REMOTE_DIFFERS',
    });
    expect(await readWorkspaceLog(workspace)).toEqual(before);
  });
});

test('reports in the status how far the logs differ, and warns about an old pull', async () => {
  const { harness, remote, workspace } = await openSyncScenario('memory');
  const readStatus = (nowMs = quietOptions.now_ms) =>
    withLocalLog(workspace, (local) => syncStatus(workspace, local, remote, nowMs)).then(unwrapSync);
  expect(await readStatus()).toMatchObject({ tail: 0, behind: 0, warning: expect.stringContaining('never') });
  await pullValid(workspace, remote);
  unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
  await workOffline(workspace, async (offline) =>
    unwrap(await offline.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('bob') })),
  );
  expect(await readStatus()).toMatchObject({
    tail: 2,
    behind: 2,
    pushed: false,
    warning: null,
    replicated_position: 0,
  });
  expect(await readStatus(quietOptions.now_ms + 3601_000)).toMatchObject({
    warning: expect.stringContaining('an hour'),
  });
  await writeFile(workspace.sync_file, 'nonsense: [');
  expect(await readStatus()).toMatchObject({ tail: 2, behind: 2 });
});

const eventOfType = async (harness: CoordinatorHarness, eventType: string) =>
  (await harness.events(KEY)).findLast((event) => event.event_type === eventType);
