export { beginDrafts, type StartedDraft } from './begin.js';
export { cleanUpWorktree } from './clean-up-worktree.js';
export { collectDrafts } from './collect.js';
export { type ConvergenceReply, convergeFromDrafts } from './converge.js';
export { type DraftScope, draftFoldersOf, type ProjectBlobs, type ProjectFolder } from './draft-folders.js';
export {
  createGrantFolders,
  type GrantFolders,
  type IsolationKind,
  isolationKind,
  removeGrantFolders,
} from './isolation.js';
export {
  type AcceptedManifest,
  type Promotion,
  type PromotionConflict,
  type PromotionFailure,
  promote,
} from './promote.js';
export { type PromotionLog, promoteAccepted } from './promote-accepted.js';
export { type DraftRefusal, type DraftRefusalCode, isDraftRefusal } from './refusal.js';
export type { WorktreeScope } from './worktree.js';
