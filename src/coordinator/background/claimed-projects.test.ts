import { describe, expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  planOf,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { describeIdleProjects } from '../../../test/support/idle-projects.js';

const [A, B] = ['A-001-core', 'B-001-data'] as const;
const LEASE_S = 60;
const ROUNDS_MAX = 100_000;

const countsOf = async (harness: CoordinatorHarness) =>
  (await harness.coordinator.projectCounts()).map(({ key, ...counts }) => [key.project_id, counts] as const);

/** Runs the timers that are due until the subject has an event of this type. No command is sent. */
async function untilRecorded(harness: CoordinatorHarness, subject: string, type: string): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if ((await harness.eventTypesOf(subject)).includes(type)) return;
    harness.advance(1);
    harness.environment.runDueTimers();
    await harness.environment.yieldToEventLoop();
  }
  throw new Error(`${type} of ${subject} was not recorded.`);
}

forEachStore('after a restart, without a command', (open) => {
  async function restartedWithClaim(policy: object = {}) {
    const harness = await open();
    await harness.plan(planOf(A, B));
    await harness.plan(planOf(A), { ...PROJECT_KEY, project_id: 'idle' });
    unwrap(await harness.coordinator.settings.putPolicy(PROJECT_KEY, policy));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    await alpha.claim(A, { lease_duration_seconds: LEASE_S });
    await harness.restart();
    await harness.coordinator.waitForClaimedProjects();
    return harness;
  }

  // req: LSE-014, MET-006
  test('the numbers of a project with a claim are known, and a project without claims is not loaded', async () => {
    const harness = await restartedWithClaim();
    expect(await countsOf(harness)).toEqual([
      [
        PROJECT_KEY.project_id,
        { active_claims: 1, stale_claims: 0, ready_tasks: 1, pending_tasks: 2, completed_tasks: 0 },
      ],
    ]);
  });

  // req: LSE-014
  test('the end of the lease is recorded, and the numbers show it', async () => {
    const harness = await restartedWithClaim();
    await untilRecorded(harness, A, 'CLAIM_LOST');
    expect(await countsOf(harness)).toMatchObject([
      [PROJECT_KEY.project_id, { active_claims: 0, ready_tasks: 2, pending_tasks: 2 }],
    ]);
  });

  test('a lease that ended while nothing ran is recorded', async () => {
    const harness = await open();
    await harness.plan(planOf(A));
    await new HarnessAgent(harness, 'alpha', 's1').claim(A, { lease_duration_seconds: LEASE_S });
    harness.coordinator.close();
    harness.advance(10 * LEASE_S);
    await harness.restart();
    await untilRecorded(harness, A, 'CLAIM_LOST');
  });

  // req: STL-005
  test('a claim that does not end by itself is reported as stale', async () => {
    const harness = await restartedWithClaim({ stale_policy: 'hold', stale_threshold_seconds: 600 });
    await untilRecorded(harness, A, 'CLAIM_LOST');
    expect(await countsOf(harness)).toMatchObject([
      [PROJECT_KEY.project_id, { active_claims: 1, stale_claims: 1 }],
    ]);
  });
});

describe('a file store with many idle projects', () => describeIdleProjects(300));
