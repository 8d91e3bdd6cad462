export * from './genesis.js';
export type { RetryOptions } from './http.js';
export * from './replies.js';
