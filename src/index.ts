export * from './coordinator/index.js';
export { openFileStore } from './stores/file/file-store.js';
export { openMemoryStore } from './stores/memory/memory-store.js';
export type { Store } from './stores/store.js';
