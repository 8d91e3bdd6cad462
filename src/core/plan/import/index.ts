export * from './detect-format.js';
export * from './import-plan.js';
export type { ImportFaults, MappedItem } from './source-item.js';
