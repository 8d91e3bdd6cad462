import { appendFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CoordinatorHarness, unwrap } from '../../../test/support/coordinator-harness.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { pull } from './pull.js';
import { push } from './push.js';
import { RemoteUnavailable, type SyncRemote } from './remote.js';
import { storeRemote } from './store-remote.js';
import { isSyncRefusal, type SyncWorkspace } from './sync-workspace.js';
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

const newWorkspace = async () => syncWorkspaceIn(await temporaryFolder());

async function openOffice(): Promise<{ harness: CoordinatorHarness; remote: SyncRemote }> {
  const harness = await CoordinatorHarness.open('memory', { home: KEY });
  const { coordinator, store, blobs } = harness;
  return {
    harness,
    remote: storeRemote({ name: 'the office', coordinator, store, blobs, key: KEY }),
  };
}

const pullFrom = (workspace: SyncWorkspace, remote: SyncRemote, may_replace_unpushed = false) =>
  pull(workspace, remote, { ...quietOptions, may_replace_unpushed });
const pushTo = (workspace: SyncWorkspace, remote: SyncRemote) =>
  withLocalLog(workspace, (local) =>
    push(workspace, local, remote, { files: new Map(), unreadable: new Map() }, quietOptions),
  );

/** The same remote, but `falsify` changes the events that it returns. */
const remoteWithEvents = (
  remote: SyncRemote,
  falsify: (events: readonly EventEnvelope[]) => readonly EventEnvelope[],
): SyncRemote => ({
  ...remote,
  events: async (after, limit) => falsify(await remote.events(after, limit)),
});

const withChangedEvent = (events: readonly EventEnvelope[], at: number, change: object) =>
  events.map((event) => (event.position === at ? ({ ...event, ...change } as EventEnvelope) : event));

const FALSE_REPORTS: readonly [string, (events: readonly EventEnvelope[]) => readonly EventEnvelope[]][] = [
  ['returns events in reverse order', (events) => [...events].reverse()],
  ['omits an event', (events) => events.filter(({ position }) => position !== 3)],
  [
    'returns an event twice',
    (events) => events.flatMap((event) => (event.position === 3 ? [event, event] : [event])),
  ],
  ['returns events of another project', (events) => withChangedEvent(events, 3, { project_id: 'other' })],
  ['returns events of another tenant', (events) => withChangedEvent(events, 3, { tenant_id: 'other' })],
  ['returns a position that goes backwards', (events) => withChangedEvent(events, 3, { position: 1 })],
  ['returns a position that is not a number', (events) => withChangedEvent(events, 3, { position: 'x' })],
  ['returns an event without a type', (events) => withChangedEvent(events, 3, { event_type: '' })],
  ['returns null for an event', (events) => [...events.slice(0, 2), null as never]],
  ['returns an event without a payload', (events) => withChangedEvent(events, 3, { payload: null })],
  ['skips a seq', (events) => withChangedEvent(events, 4, { seq: 9 })],
  [
    'grants a held task',
    (events) =>
      withChangedEvent(events, 5, { event_type: 'edge_started', generation: 2, payload: events[1]?.payload }),
  ],
  ['grants a claim without its fields', (events) => withChangedEvent(events, 2, { payload: {} })],
  [
    'grants a claim with invalid times',
    (events) =>
      withChangedEvent(events, 2, { payload: { expires_at: '9'.repeat(99), lease_duration_seconds: -1 } }),
  ],
  [
    'returns an invalid setting',
    (events) => [
      ...withChangedEvent(events, 3, {
        event_type: 'POLICY_CHANGED',
        subject: '~policy',
        seq: 1,
        payload: { record: 7 },
      }),
    ],
  ],
  [
    'returns an invalid methodology',
    (events) => [
      ...withChangedEvent(events, 3, {
        event_type: 'METHODOLOGY_CHANGED',
        subject: '~methodology',
        seq: 1,
        payload: { by: 'x', record: { topology: 7 } },
      }),
    ],
  ],
];

/** At least four events: claims and a release. */
async function workInOffice(harness: CoordinatorHarness): Promise<void> {
  unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
  unwrap(await harness.coordinator.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('bob') }));
  unwrap(
    await harness.coordinator.holder.releaseClaim(KEY, {
      ...EDGE,
      session_id: 's-ada',
      expected_generation: 1,
    }),
  );
  unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('eve') }));
}

describe('a remote that', () => {
  test.each(FALSE_REPORTS)('%s is refused, and a later correct pull succeeds', async (_, falsify) => {
    const { harness, remote } = await openOffice();
    await workInOffice(harness);
    const workspace = await newWorkspace();
    expect(await pullFrom(workspace, remoteWithEvents(remote, falsify))).toMatchObject({
      refused: 'REMOTE_BROKEN',
    });
    expect(isSyncRefusal(await pullFrom(workspace, remote))).toBe(false);
    expect(await readWorkspaceLog(workspace)).toEqual(await harness.events(KEY));
  });

  test.each(FALSE_REPORTS)('%s after offline work destroys no local event', async (_, falsify) => {
    const { harness, remote } = await openOffice();
    await workInOffice(harness);
    const workspace = await newWorkspace();
    await pullFrom(workspace, remote);
    await workOffline(workspace, async (offline) =>
      unwrap(await offline.claims.claimTask(KEY, { task_id: 'REQ-F-3#design_code', ...agentFields('ada') })),
    );
    const before = await readWorkspaceLog(workspace);
    const reply = (await pullFrom(workspace, remoteWithEvents(remote, falsify), true)) as { aside: string };
    const aside = (await readFile(reply.aside, 'utf8')).trimEnd().split('\n');
    expect([...(await readWorkspaceLog(workspace)), ...aside.map((line) => JSON.parse(line))]).toEqual(
      before,
    );
  });

  test('changes its log during a pull does not replace the shared part', async () => {
    const { harness, remote } = await openOffice();
    await workInOffice(harness);
    const workspace = await newWorkspace();
    await pullFrom(workspace, remote);
    await workOffline(workspace, async (offline) =>
      unwrap(await offline.claims.claimTask(KEY, { task_id: 'REQ-F-3#design_code', ...agentFields('ada') })),
    );
    const shared = (await readWorkspaceLog(workspace)).slice(0, await remote.position());
    const other = await openOffice();
    unwrap(await other.harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('mallory') }));
    let requestCount = 0;
    const changingRemote: SyncRemote = {
      ...remote,
      position: async () => (requestCount === 0 ? remote.position() : other.remote.position()),
      events: (after, limit) => {
        requestCount += 1;
        return requestCount === 1 ? remote.events(after, limit) : other.remote.events(after, limit);
      },
    };
    await pullFrom(workspace, changingRemote, true).catch(() => {});
    expect((await readWorkspaceLog(workspace)).slice(0, shared.length)).toEqual(shared);
  });

  test('reports an impossible position is refused or unavailable', async () => {
    const { harness, remote } = await openOffice();
    await workInOffice(harness);
    const endlessRemote = (position: number): SyncRemote => ({ ...remote, position: async () => position });
    const workspace = await newWorkspace();
    await expect(pullFrom(workspace, endlessRemote(1e15))).rejects.toThrow(RemoteUnavailable);
    for (const invalidPosition of [Number.NaN, -1, 1.5, 'x' as never]) {
      expect(
        await pullFrom(await newWorkspace(), endlessRemote(invalidPosition)).catch((error) => error),
      ).toSatisfy((reply) => reply instanceof RemoteUnavailable || isSyncRefusal(reply));
    }
  });

  test('returns other bytes for a blob is refused', async () => {
    const { harness, remote } = await openOffice();
    unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
    const result_data = 'y'.repeat(100_000);
    unwrap(
      await harness.coordinator.holder.submitResult(KEY, {
        ...EDGE,
        session_id: 's-ada',
        generation: 1,
        result_data,
      }),
    );
    const workspace = await newWorkspace();
    const falseRemote = { ...remote, getBlob: async () => Buffer.from('other') };
    expect(await pullFrom(workspace, falseRemote)).toMatchObject({
      refused: 'REMOTE_BROKEN',
      detail: expect.stringContaining('blob'),
    });
    expect(await pullFrom(workspace, { ...remote, getBlob: async () => null })).toMatchObject({
      rebuilt: false,
    });
  });
});

/** A remote that fails at the request with this number, either before it executes the request or after, without a reply. */
function breakingRemote(remote: SyncRemote, at: number, failureTime: 'before' | 'after'): SyncRemote {
  let requestCount = 0;
  const guarded = Object.entries(remote).map(([name, call]) => {
    if (typeof call !== 'function') return [name, call];
    return [
      name,
      async (...args: unknown[]) => {
        requestCount += 1;
        const isFailing = requestCount === at;
        if (isFailing && failureTime === 'before') throw new RemoteUnavailable(name);
        const reply = await (call as (...args: unknown[]) => Promise<unknown>)(...args);
        if (isFailing) throw new RemoteUnavailable(name);
        return reply;
      },
    ];
  });
  return Object.fromEntries(guarded) as SyncRemote;
}

test.each(['before', 'after'] as const)(
  'reaches the same result when the connection fails %s any request and the sync is repeated',
  async (failureTime) => {
    for (let failingRequest = 1; ; failingRequest += 1) {
      const { harness, remote } = await openOffice();
      unwrap(await harness.coordinator.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('bob') }));
      const workspace = await newWorkspace();
      await workOffline(workspace, async (offline) => {
        unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
        unwrap(await offline.claims.claimTask(KEY, { ...OTHER_EDGE, ...agentFields('ada') }));
        unwrap(await offline.holder.note(KEY, { ...EDGE, session_id: 's-ada', generation: 1, text: 'half' }));
        const result = { ...EDGE, session_id: 's-ada', generation: 1, result_data: 'y'.repeat(100_000) };
        unwrap(await offline.holder.submitResult(KEY, result));
      });
      const failing = breakingRemote(remote, failingRequest, failureTime);
      const pushAndPull = async (through: SyncRemote) => {
        await pushTo(workspace, through);
        return pullFrom(workspace, through);
      };
      const isComplete = await pushAndPull(failing).then(
        () => true,
        (error) => {
          if (error instanceof RemoteUnavailable) return false;
          throw error;
        },
      );
      if (isComplete) {
        expect(failingRequest).toBeGreaterThan(10);
        return;
      }
      await pushAndPull(remote);
      const log = await harness.events(KEY);
      expect(await readWorkspaceLog(workspace), `request ${failingRequest}`).toEqual(log);
      const eventTypes = log
        .filter(({ subject }) => subject?.startsWith('REQ'))
        .map(({ event_type }) => event_type);
      expect(eventTypes, `request ${failingRequest}`).toEqual([
        'edge_started',
        'edge_started',
        'claim_rejected',
        'note_added',
        'edge_converged',
      ]);
    }
  },
);

test('grants an edge to one of two workspaces that push at once, and records each event once', async () => {
  const { harness, remote } = await openOffice();
  const workspaces = await Promise.all(
    ['ada', 'bob'].map(async (agent) => {
      const workspace = await newWorkspace();
      await workOffline(workspace, async (offline) => {
        unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...agentFields(agent) }));
        unwrap(
          await offline.holder.submitResult(KEY, {
            ...EDGE,
            session_id: `s-${agent}`,
            generation: 1,
            result_data: agent,
          }),
        );
      });
      return workspace;
    }),
  );
  const pushTwice = async (workspace: SyncWorkspace) => {
    await pushTo(workspace, remote);
    await pushTo(workspace, remote);
  };
  await Promise.all(workspaces.map(pushTwice));
  const log = await harness.events(KEY);
  expect(log.filter(({ event_type }) => event_type === 'edge_started')).toHaveLength(1);
  expect(log.filter(({ event_type }) => event_type === 'edge_converged')).toHaveLength(1);
  const checker = new PolicyAwareLogChecker();
  expect(log.flatMap((event) => checker.checkEvent(event))).toEqual([]);
  for (const workspace of workspaces) {
    await pullFrom(workspace, remote);
    expect(await readWorkspaceLog(workspace)).toEqual(log);
  }
});

test('refuses and keeps work under a claim that another agent holds by now', async () => {
  const { harness, remote } = await openOffice();
  const workspace = await newWorkspace();
  unwrap(await harness.coordinator.claims.claimTask(KEY, { ...EDGE, ...agentFields('ada') }));
  await pullFrom(workspace, remote);
  await workOffline(workspace, async (offline) => {
    unwrap(
      await offline.holder.submitResult(KEY, {
        ...EDGE,
        session_id: 's-ada',
        generation: 1,
        result_data: 'mine',
      }),
    );
  });
  const reassignment = { expected_generation: 1, reason: 'gone', ...agentFields('bob') };
  unwrap(await harness.coordinator.decisions.operate(KEY, EDGE.task_id, 'reassign', reassignment));
  expect(await pushTo(workspace, remote)).toMatchObject({
    sent: 0,
    refused: [{ event_type: 'edge_converged', reason: expect.stringMatching(/STALE|NOT_HOLDER|GENERATION/) }],
  });
  const reply = await pullFrom(workspace, remote);
  expect(await readWorkspaceLog(workspace)).toEqual(await harness.events(KEY));
  expect(await readFile((reply as { aside: string }).aside, 'utf8')).toContain('edge_converged');
});

test('ignores an incomplete line at the end of the local log', async () => {
  const { harness, remote } = await openOffice();
  await workInOffice(harness);
  const workspace = await newWorkspace();
  await pullFrom(workspace, remote);
  const line = (await readFile(join(workspace.events, 'events.jsonl'), 'utf8'))
    .trimEnd()
    .split('\n')
    .at(-1) as string;
  await appendFile(join(workspace.events, 'events.jsonl'), line.slice(0, 80));
  unwrap(
    await harness.coordinator.holder.releaseClaim(KEY, {
      ...EDGE,
      session_id: 's-eve',
      expected_generation: 2,
    }),
  );
  expect(await pullFrom(workspace, remote)).toMatchObject({ rebuilt: false });
  expect(await readWorkspaceLog(workspace)).toEqual(await harness.events(KEY));
  expect(await readdir(workspace.events)).not.toContain('offline');
});
