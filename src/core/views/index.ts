export { type AgentTally, type AgentView, agentViews, SESSIONS_PER_AGENT_MAX, tallyAgent } from './agents.js';
export { type ClaimIndex, subjectsOf } from './claim-index.js';
export { absorb, type CommittedUnit, learnHead } from './learn.js';
export {
  type ClaimHistory,
  type Lineage,
  type LineageRow,
  type LineageTable,
  lineageOf,
  lineageTable,
  type RejectedRow,
  type Reviewed,
} from './lineage.js';
export { keepParked, type ParkedIds } from './parked.js';
export { type Place, placeOf } from './place.js';
export { type PlanProgress, type Progress, planProgress, progressSteps } from './progress.js';
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
  type Waiting,
} from './status.js';
export {
  READINESS,
  type Readiness,
  readinessOf,
  type TaskClaim,
  type TaskFacts,
  type TaskState,
  type TaskStateResult,
  taskState,
  taskStateIn,
} from './task-state.js';
export type { Vantage } from './vantage.js';
