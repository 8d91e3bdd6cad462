import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe } from 'vitest';
import { describeDurability } from './conformance/durability.js';
import { describeEvents } from './conformance/events.js';
import { describeForgetting } from './conformance/forgetting.js';
import { describeHeads } from './conformance/heads.js';
import { describeIsolation } from './conformance/isolation.js';
import { describeNotes } from './conformance/notes.js';
import { describeOrder } from './conformance/order.js';
import { describeRequests } from './conformance/requests.js';
import { describeRules } from './conformance/rules.js';
import { Scene, type StoreUnderTest } from './conformance/scene.js';
import { describeSlots } from './conformance/slots.js';
import { describeOwnedTime, describeTime } from './conformance/time.js';

export type { StoreUnderTest } from './conformance/scene.js';

export interface ConformanceHarness {
  open(tenant_id: string): Promise<StoreUnderTest>;
  /** It is opened with a clock, which the suite moves on. */
  readonly ownsTime?: boolean;
}

/**
 * What every store must do, all or nothing: no store chooses which parts it runs. Each test opens the store anew and
 * works in a tenant of its own, so that a server which keeps its data between tests does as well as a fresh one.
 */
export function describeStoreConformance(name: string, harness: ConformanceHarness): void {
  describe(`the ${name} store`, () => {
    let scene: Scene;
    beforeEach(async () => {
      const tenant_id = `t-${randomUUID()}`;
      scene = new Scene(await harness.open(tenant_id), tenant_id);
    });
    afterEach(() => scene.store.close());

    for (const describeGroup of GROUPS) describeGroup(() => scene);
    if (harness.ownsTime === true) describeOwnedTime(() => scene);
  });
}

const GROUPS = [
  describeHeads,
  describeRules,
  describeRequests,
  describeNotes,
  describeForgetting,
  describeSlots,
  describeTime,
  describeOrder,
  describeEvents,
  describeIsolation,
  describeDurability,
];
