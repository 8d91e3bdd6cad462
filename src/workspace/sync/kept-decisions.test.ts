import { rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { personCaller } from '../../../test/support/agent.js';
import {
  CoordinatorHarness,
  STORES,
  type TestStoreName,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { type PushReport, push } from './push.js';
import { storeRemote } from './store-remote.js';
import { isSyncRefusal } from './sync-workspace.js';
import {
  EDGE,
  KEY,
  OTHER_EDGE,
  quietOptions,
  readWorkspaceLog,
  syncWorkspaceIn,
  withLocalLog,
  workOffline,
} from './testing/sync-harness.js';

const ADA = { agent_id: 'ada', session_id: 's-ada' };
const claimFields = { ...EDGE, session_id: 's-ada' };

async function openOffice(name: TestStoreName) {
  const harness = await CoordinatorHarness.open(name, { home: KEY });
  // The laptop has the real time. The clock of the office is far ahead, so that offline events are in its past.
  harness.advance(20 * 365 * 24 * 3600);
  const { coordinator, store, blobs } = harness;
  const remote = storeRemote({ name: 'the office', coordinator, store, blobs, key: KEY });
  const workspace = syncWorkspaceIn(await temporaryFolder());
  const pushValid = async (): Promise<PushReport> => {
    const texts = { files: new Map(), unreadable: new Map() };
    const report = await withLocalLog(workspace, (local) =>
      push(workspace, local, remote, texts, quietOptions),
    );
    if (isSyncRefusal(report)) throw new Error(report.detail);
    return report;
  };
  return { harness, workspace, pushValid };
}

/** The fields that must survive a push: the event, its time and its reviewer. Signs of life are not decisions. */
const decisionsIn = (events: readonly EventEnvelope[]) =>
  events
    .filter(({ event_type }) => ![undefined, 'renewed'].includes(claimEventKindOf(event_type)))
    .map(({ event_id, event_type, timestamp, payload }) => ({
      event_id,
      event_type,
      occurred_at: payload.occurred_at ?? timestamp,
      reviewer: payload.reviewer,
    }));

describe.each(STORES)('what was decided offline (%s store)', (name) => {
  // req: SYN-002, SYN-003
  test('keeps its id, time and reviewer when it is pushed, also twice', async () => {
    const { harness, workspace, pushValid } = await openOffice(name);
    await workOffline(workspace, async (offline) => {
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...ADA }));
      const gate = { iteration: 1, candidate_sha256: sha256Hex('"draft"') };
      unwrap(await offline.holder.suspendClaim(KEY, { ...claimFields, expected_generation: 1, ...gate }));
      const review = { ...EDGE, generation: 1, ...gate };
      unwrap(
        await offline.decisions.recordReview(
          KEY,
          { ...review, decision: 'CHANGES_REQUESTED' },
          personCaller('rita'),
        ),
      );
      unwrap(await offline.holder.note(KEY, { ...claimFields, generation: 1, text: 'half way' }));
      unwrap(await offline.holder.suspendClaim(KEY, { ...claimFields, expected_generation: 1 }));
      unwrap(await offline.holder.resumeClaim(KEY, { ...claimFields, expected_generation: 1 }));
      unwrap(await offline.holder.releaseClaim(KEY, { ...claimFields, expected_generation: 1 }));
      unwrap(await offline.claims.claimTask(KEY, { ...OTHER_EDGE, ...ADA }));
      unwrap(
        await offline.holder.submitResult(KEY, {
          ...claimFields,
          ...OTHER_EDGE,
          generation: 1,
          result_data: 'done',
        }),
      );
    });
    // In the office the edge has another generation. The note must keep its id, although the id derives from the generation.
    const { coordinator } = harness;
    unwrap(await coordinator.claims.claimTask(KEY, { ...EDGE, agent_id: 'eve', session_id: 's-eve' }));
    unwrap(
      await coordinator.holder.releaseClaim(KEY, { ...EDGE, session_id: 's-eve', expected_generation: 1 }),
    );
    const before = (await harness.events(KEY)).length;
    const offline = decisionsIn(await readWorkspaceLog(workspace));
    expect(await pushValid()).toMatchObject({ sent: offline.length, refused: [], not_sent: [] });
    const arrived = (await harness.events(KEY)).slice(before);
    expect(decisionsIn(arrived)).toEqual(offline);
    expect(arrived.find(({ payload }) => payload.reviewer === 'rita')).toMatchObject({
      agent_id: 'open',
      payload: { pushed_by: 'open' },
    });
    const log = await harness.events(KEY);
    await pushValid();
    await rm(workspace.sync_file);
    await pushValid();
    expect(await harness.events(KEY)).toEqual(log);
    const checker = new PolicyAwareLogChecker();
    for (const event of log) expect(checker.checkEvent(event)).toEqual([]);
  });

  test('keeps the id of a result that a review accepted', async () => {
    const { harness, workspace, pushValid } = await openOffice(name);
    await workOffline(workspace, async (offline) => {
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...ADA }));
      const gate = { iteration: 1, candidate_sha256: sha256Hex('"v1"') };
      unwrap(await offline.holder.suspendClaim(KEY, { ...claimFields, expected_generation: 1, ...gate }));
      unwrap(await offline.holder.resumeClaim(KEY, { ...claimFields, expected_generation: 1 }));
      // A candidate that was not approved waits for a person.
      expect(
        await offline.holder.submitResult(KEY, { ...claimFields, generation: 1, result_data: 'v2' }),
      ).toMatchObject({
        reason: 'ESCALATED',
      });
      const review = { ...EDGE, generation: 1, iteration: 1, candidate_sha256: sha256Hex('"v2"') };
      unwrap(
        await offline.decisions.recordReview(KEY, { ...review, decision: 'APPROVED' }, personCaller('rita')),
      );
    });
    const offline = decisionsIn(await readWorkspaceLog(workspace));
    expect(offline.at(-1)).toMatchObject({ event_type: 'edge_converged' });
    expect(await pushValid()).toMatchObject({ sent: offline.length, refused: [], not_sent: [] });
    expect(decisionsIn(await harness.events(KEY))).toEqual(offline);
    expect(await pushValid()).toMatchObject({ sent: offline.length, refused: [] });
    expect(decisionsIn(await harness.events(KEY))).toEqual(offline);
  });

  test('is named by its id in the refusal if the remote refuses it', async () => {
    const { harness, workspace, pushValid } = await openOffice(name);
    await workOffline(workspace, async (offline) =>
      unwrap(await offline.claims.claimTask(KEY, { ...EDGE, ...ADA })),
    );
    const { coordinator } = harness;
    unwrap(await coordinator.claims.claimTask(KEY, { ...EDGE, agent_id: 'eve', session_id: 's-eve' }));
    const offline = (await readWorkspaceLog(workspace)).at(-1);
    expect(await pushValid()).toMatchObject({ refused: [{ event_id: offline?.event_id }] });
    expect((await harness.events(KEY)).at(-1)).toMatchObject({
      event_type: 'claim_rejected',
      request_id: offline?.event_id,
      payload: { occurred_at: offline?.timestamp },
    });
  });
});
