export { type Begun, beginDrafts } from './begin.js';
export { collectDrafts } from './collect.js';
export { type Convergence, convergeFromDrafts } from './converge.js';
export { endIsolation, type Isolation, type IsolationKind, isolate, isolationKind } from './isolation.js';
export { type DraftsOf, type ProjectPlace, placesOf, type Shelf } from './places.js';
export { type AcceptedManifest, type Conflict, type Failure, type Promotion, promote } from './promote.js';
export { type Log, promoteAccepted } from './redo.js';
export { type DraftCode, type DraftRefusal, isRefusal } from './refusal.js';
export type { WorktreeOf } from './worktree.js';
