export {
  type AddedSubtask,
  type AddReading,
  addItems,
  addTasks,
  readTaskItems,
  soundTaskItems,
  type TaskItems,
} from './add-tasks.js';
export {
  AGENTS_PER_TRACK_ADVISED,
  agentsInTrack,
  type TrackRoom,
  trackRoom,
  type WorkInTrack,
} from './allocation.js';
export {
  diffPlan,
  diffSteps,
  isNoChange,
  type PlanInput,
  splitChange,
  splitSteps,
  TASKS_PER_EVENT_MAX,
} from './change.js';
export { PLAN_SUBJECTS_MAX } from './check.js';
export { FAULTS_MAX, PLAN_FAULT_CODES, type PlanFault, type PlanFaultCode } from './faults.js';
export { dependantsOf, dependenciesOf } from './graph.js';
export { inputsOf, type ResultStamp } from './inputs.js';
export { applyPlanChange, emptyPlan, type Plan, type PlanChange, type PlannedSubject } from './plan.js';
export { type PlanDocument, type PlanSource, readPlanDocument } from './plan-document.js';
export { locateIn, type PlanPlaces, placesOf } from './plan-places.js';
export { PLAN_TEXT_LENGTH_MAX } from './plan-yaml.js';
export { type PlanReading, readPlan, standingFaults } from './read-plan.js';
export { compareReady, type Rank, rankOf, waitingFor } from './readiness.js';
export { renderPlan, renderPlanYaml, renderSteps } from './render.js';
export { NOTHING_STARTED, type Standing } from './standing.js';
export {
  type PlannedTask,
  type SubtaskInput,
  subtaskCount,
  subtaskDescription,
  subtaskId,
  subtaskIds,
  type TaskInput,
} from './task.js';
export { isTaskId, parseTaskId, type TaskId, type TaskIdReading } from './task-id.js';
export { taskIdSchema, taskInputSchema } from './task-schema.js';
export { KNOWN_TRACKS, type TrackMeaning, trackPurpose } from './tracks.js';
export { type Weights, weightOf, weightSteps } from './weights.js';
export { parseWorkProductRef, type WorkProductRef, workProductRef } from './work-product.js';
