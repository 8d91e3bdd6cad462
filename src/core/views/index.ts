export {
  type AgentStats,
  type AgentView,
  agentViews,
  SESSIONS_PER_AGENT_MAX,
  updateAgentStats,
} from './agents.js';
export { applyCommit, applyStoredHead, type CommittedTransaction } from './apply-commit.js';
export { type ClaimIndex, claimedSubjectsOf } from './claim-index.js';
export type { FoldContext } from './fold-context.js';
export {
  type ClaimHistory,
  type Lineage,
  type LineageRow,
  type LineageTable,
  lineageOf,
  lineageTable,
  type RejectedRow,
  type ReviewEntry,
} from './lineage.js';
export { type ParkedIds, updateParked } from './parked.js';
export { type PlanPosition, planPositionOf } from './plan-position.js';
export { type PlanProgress, type ProgressCounts, planProgress, progressSteps } from './progress.js';
export {
  emptyProject,
  emptyWork,
  evolveProject,
  evolveWork,
  foldProject,
  isDone,
  type ProjectState,
  type WorkState,
} from './project-state.js';
export { parkedResults, pastGrant, resultsOf, type TaskResult } from './results.js';
export {
  type ClaimRef,
  emptySession,
  evolveSession,
  type SessionFold,
  type SessionMemory,
  sessionMemory,
  TASK_LOG_MAX,
  type TaskLogEntry,
} from './session-memory.js';
export {
  liveClaims,
  type ProjectStatus,
  projectStatus,
  STATUS_LIST_MAX,
  statusSteps,
  type WaitingSubject,
} from './status.js';
export {
  READINESS,
  type Readiness,
  readinessOf,
  type TaskClaim,
  type TaskState,
  type TaskStateInput,
  type TaskStateResult,
  taskState,
  taskStateIn,
} from './task-state.js';
