export * from './bodies.js';
export type * from './replies.js';
