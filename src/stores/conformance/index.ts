export type { StoreUnderTest } from './fixture.js';
export { type ConformanceHarness, storeTests } from './suite.js';
export type { ConformanceTest } from './test-list.js';
