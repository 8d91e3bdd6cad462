import { expect } from 'vitest';
import { FrozenTime } from '../../../test/support/frozen-time.js';
import type { Genesis } from '../genesis.js';
import type { WorkSummary } from '../work-options.js';
import { expectNoProblem, openClientHarness, planTextOf, startChild } from './client-harness.js';

const LEASE_SECONDS = 1;
const STEP_SECONDS = 0.3;
const STEP_COUNT = 4;

/**
 * Runs an agent whose handler blocks for longer than its lease, and expects it to keep its claim. Time advances on
 * the server and the agent only after a renewal, so on a slow machine no lease can expire unless nothing renews it.
 * Returns the agent's warnings.
 */
export async function expectBusyAgentToKeepItsClaim(program: string): Promise<string> {
  const time = FrozenTime.begin();
  const { direct, server, outbox } = await openClientHarness(planTextOf({ A: 1 }));
  const child = startChild(program, [server.url, outbox, String(LEASE_SECONDS), String(STEP_SECONDS)]);
  expect(await child.nextLine()).toBe('working A-001-part');
  for (let step = 1; step <= STEP_COUNT; step += 1) {
    await waitForTwoRenewals(direct);
    time.advance(STEP_SECONDS);
    child.write('+');
    expect(await child.nextLine()).toBe('still busy');
  }
  child.write('.');
  const summary = JSON.parse((await child.nextLine()) ?? '') as WorkSummary;
  expect(summary.outcomes).toMatchObject([{ accepted: true, late: false, generation: 1 }]);
  const { results } = expectNoProblem(await direct.results('A-001-part'));
  const result = expectNoProblem(await direct.result('A-001-part', results[0]?.id ?? ''));
  expect(result.result_data).toEqual({ by: 'child', held: true, aborted: false });
  expect(expectNoProblem(await direct.events({ type: 'CLAIM_LOST' })).events).toEqual([]);
  return child.stderrText();
}

/** The first renewal may have been sent before this call. The second is sent only after the reply to the first. */
async function waitForTwoRenewals(direct: Genesis): Promise<void> {
  let renewalCount = 0;
  for await (const _ of direct.follow({ type: 'LEASE_RENEWED', after: 'now' })) {
    renewalCount += 1;
    if (renewalCount === 2) return;
  }
}
