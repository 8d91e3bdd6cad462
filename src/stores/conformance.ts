import { describe, test } from 'vitest';
import { type ConformanceHarness, storeTests } from './conformance/suite.js';

export type { StoreUnderTest } from './conformance/fixture.js';

/** Declares the conformance suite in vitest, for the stores of this repository. */
export function describeStoreConformance(name: string, harness: ConformanceHarness): void {
  describe(`the ${name} store`, () => {
    for (const { name: behaviour, run } of storeTests(harness)) test(behaviour, run);
  });
}
