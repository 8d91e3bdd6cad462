import { randomUUID } from 'node:crypto';
import { describeDueProjects, describePermitsOnHeads } from './due.js';
import { describeDurability } from './durability.js';
import { describeEvents } from './events.js';
import { StoreFixture, type StoreUnderTest } from './fixture.js';
import { describeHeads } from './heads.js';
import { describeIsolation } from './isolation.js';
import { describeLooseEvents } from './loose-events.js';
import { describeOrder } from './order.js';
import { describePermits } from './permits.js';
import { describeProjectsWithPermits } from './projects-with-permits.js';
import { describeRedaction } from './redaction.js';
import { describeRequests } from './requests.js';
import { describeRules } from './rules.js';
import { describeTenants } from './tenants.js';
import { type ConformanceTest, testsDeclaredBy } from './test-list.js';
import { describeControlledClock, describeTime } from './time.js';

export interface ConformanceHarness {
  open(tenantId: string): Promise<StoreUnderTest>;
  /** The store under test is opened with a clock that the suite can advance. */
  readonly hasControlledClock?: boolean;
  /** The store has an index of the projects that are due. */
  readonly hasDueIndex?: boolean;
}

/**
 * The conformance suite for stores. A store skips only the tests of what it does not have: a controlled clock, an index of
 * the projects that are due, data to reopen. Each test opens the store again and uses a new tenant, so
 * a server that keeps data between tests behaves like a fresh one. The tests run one after the other.
 */
export function storeTests(harness: ConformanceHarness): readonly ConformanceTest[] {
  let fixture: StoreFixture;
  const tests = testsDeclaredBy(() => {
    for (const describeGroup of GROUPS) describeGroup(() => fixture);
    if (harness.hasControlledClock === true) describeControlledClock(() => fixture);
    if (harness.hasDueIndex === true) describeDueProjects(() => fixture);
  });
  return tests.map(({ name, run }) => ({
    name,
    run: async () => {
      const tenantId = `t-${randomUUID()}`;
      fixture = new StoreFixture(await harness.open(tenantId), tenantId);
      try {
        await run();
      } finally {
        await fixture.store.close();
      }
    },
  }));
}

const GROUPS = [
  describeHeads,
  describeRules,
  describeRequests,
  describeLooseEvents,
  describeRedaction,
  describePermits,
  describePermitsOnHeads,
  describeProjectsWithPermits,
  describeTenants,
  describeTime,
  describeOrder,
  describeEvents,
  describeIsolation,
  describeDurability,
];
