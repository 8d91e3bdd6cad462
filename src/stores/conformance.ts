import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe } from 'vitest';
import { describeDueProjects, describePermitsOnHeads } from './conformance/due.js';
import { describeDurability } from './conformance/durability.js';
import { describeEvents } from './conformance/events.js';
import { StoreFixture, type StoreUnderTest } from './conformance/fixture.js';
import { describeHeads } from './conformance/heads.js';
import { describeHeldProjects } from './conformance/held.js';
import { describeIsolation } from './conformance/isolation.js';
import { describeLooseEvents } from './conformance/loose-events.js';
import { describeOrder } from './conformance/order.js';
import { describePermits } from './conformance/permits.js';
import { describeRedaction } from './conformance/redaction.js';
import { describeRequests } from './conformance/requests.js';
import { describeRules } from './conformance/rules.js';
import { describeControlledClock, describeTime } from './conformance/time.js';

export type { StoreUnderTest } from './conformance/fixture.js';

export interface ConformanceHarness {
  open(tenantId: string): Promise<StoreUnderTest>;
  /** The store under test is opened with a clock that the suite can advance. */
  readonly controlsClock?: boolean;
  /** The store has an index of the projects that are due. */
  readonly indexesDueProjects?: boolean;
}

/**
 * The conformance suite for stores; no store can skip a part. Each test opens the store again and uses a tenant of its
 * own, so a server that keeps data between tests behaves like a fresh one.
 */
export function describeStoreConformance(name: string, harness: ConformanceHarness): void {
  describe(`the ${name} store`, () => {
    let fixture: StoreFixture;
    beforeEach(async () => {
      const tenantId = `t-${randomUUID()}`;
      fixture = new StoreFixture(await harness.open(tenantId), tenantId);
    });
    afterEach(() => fixture.store.close());

    for (const describeGroup of GROUPS) describeGroup(() => fixture);
    if (harness.controlsClock === true) describeControlledClock(() => fixture);
    if (harness.indexesDueProjects === true) describeDueProjects(() => fixture);
  });
}

const GROUPS = [
  describeHeads,
  describeRules,
  describeRequests,
  describeLooseEvents,
  describeRedaction,
  describePermits,
  describePermitsOnHeads,
  describeHeldProjects,
  describeTime,
  describeOrder,
  describeEvents,
  describeIsolation,
  describeDurability,
];
