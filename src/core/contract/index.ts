/** The types of the wire contract. Schemas and codes are imported from the file of their topic. */

export type * from './briefing.js';
export type * from './checkpoints.js';
export type * from './checks.js';
export type * from './claim-bodies.js';
export type * from './claim-records.js';
export type * from './claim-replies.js';
export type * from './codes.js';
export type * from './configuration.js';
export type * from './events.js';
export type * from './gaps.js';
export type * from './keys.js';
export type * from './methodology.js';
export type * from './methodology-views.js';
export type * from './overview.js';
export type * from './plan.js';
export type * from './problem.js';
export type * from './reviews.js';
export type * from './schema.js';
export type * from './sessions.js';
export type * from './settings.js';
export type * from './spawns.js';
export type * from './start.js';
export type * from './tasks.js';
export type * from './values.js';
export type * from './version-releases.js';
export type * from './whoami.js';
