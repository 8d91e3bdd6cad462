export * from './wire/bodies.js';
export type * from './wire/replies.js';
