export {
  type AddedSubtask,
  type AddTasksResult,
  addTaskItems,
  addTasks,
  type ParsedTaskItems,
  readTaskItems,
  validTaskItems,
} from './add-tasks.js';
export { PLAN_SUBJECTS_MAX } from './check-candidates.js';
export { dependantsOf, dependenciesOf } from './dependency-graph.js';
export { inputsOf, type ResultVersion } from './inputs.js';
export { applyPlanChange, emptyPlan, type Plan, type PlanChange, type PlannedSubject } from './plan.js';
export {
  diffPlan,
  diffPlanSteps,
  isNoChange,
  type PlanInput,
  splitChange,
  splitChangeSteps,
  TASKS_PER_EVENT_MAX,
} from './plan-change.js';
export { type ParsedPlanDocument, type PlanSource, readPlanDocument } from './plan-document.js';
export { FAULTS_MAX, PLAN_FAULT_CODES, type PlanFault, type PlanFaultCode } from './plan-faults.js';
export { locateInSourceMap, type PlanSourceMap, planSourceMapOf } from './plan-source-map.js';
export { PLAN_TEXT_LENGTH_MAX } from './plan-yaml.js';
export { type PlanParseResult, readPlan, startedTaskFaults } from './read-plan.js';
export { compareRank, openDependenciesOf, type Rank, rankOf } from './readiness.js';
export { renderPlan, renderPlanSteps, renderPlanYaml } from './render.js';
export { NOTHING_STARTED, type StartedTasks } from './started-tasks.js';
export {
  type PlannedTask,
  type SubtaskInput,
  subtaskCount,
  subtaskDescription,
  subtaskId,
  subtaskIds,
  type TaskInput,
} from './task.js';
export { isTaskId, parseTaskId, type TaskId, type TaskIdParseResult } from './task-id.js';
export { taskIdSchema, taskInputSchema } from './task-schema.js';
export {
  AGENTS_PER_TRACK_ADVISED,
  agentsByTrack,
  type TrackCapacity,
  type TrackClaim,
  trackCapacity,
} from './track-capacity.js';
export { KNOWN_TRACKS, type TrackInfo, trackPurpose } from './tracks.js';
export { type Weights, weightOf, weightSteps } from './weights.js';
export { parseWorkProductRef, type WorkProductRef, workProductRef } from './work-product.js';
