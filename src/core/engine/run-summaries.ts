import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { RunSummary } from '../contract/runs.js';
import type { EventEnvelope } from '../events/envelope.js';
import { subjectKeys } from '../subject.js';
import { addCost, type Cost, NO_COST } from './check-outcome.js';
import { type RunEventPayload, type RunEventType, runEventSchemas } from './run-events.js';

export const RUN_EVENT_TYPES = Object.keys(runEventSchemas) as RunEventType[];
export const isRunEvent = (eventType: string): eventType is RunEventType =>
  Object.hasOwn(runEventSchemas, eventType);

type AnyPayload = RunEventPayload<RunEventType>;
export type StepPayload = RunEventPayload<
  Exclude<RunEventType, 'run_requested' | 'run_started' | 'run_ended'>
>;

/**
 * The schemas of recorded events. They accept additional fields, which a newer version may have written. They are made
 * once, because zod compiles each new schema.
 */
const recordedSchemas = new Map(RUN_EVENT_TYPES.map((type) => [type, runEventSchemas[type].loose()]));

/** The payload of an event of a run; null for other events, and for an event of a run whose payload is not valid. */
export function runPayloadOf({ event_type, payload }: EventEnvelope): AnyPayload | null {
  if (!isRunEvent(event_type)) return null;
  const parsed = recordedSchemas.get(event_type)?.safeParse(payload);
  return parsed?.success === true ? parsed.data : null;
}

/**
 * The run after an event that names it. An event that breaks the order leaves the run unchanged: a step before the start, a
 * second request, start or end; so does an event that was recorded on another edge. Undefined if the run does not exist and
 * the event does not begin it.
 */
export function evolveRun(
  before: RunSummary | undefined,
  event: EventEnvelope,
  payload: AnyPayload,
): RunSummary | undefined {
  if (before !== undefined && before.task_id !== event.subject) return before;
  if (event.event_type === 'run_requested')
    return before ?? requestedRun(event, payload as RunEventPayload<'run_requested'>);
  if (event.event_type === 'run_started')
    return startedRun(before, event, payload as RunEventPayload<'run_started'>);
  if (before === undefined) return undefined;
  if (event.event_type === 'run_ended')
    return endedRun(before, event, payload as RunEventPayload<'run_ended'>);
  return before.started_at === null ? before : withStep(before, event, payload as StepPayload);
}

const newRun = (event: EventEnvelope, runId: string): RunSummary => ({
  run_id: runId,
  task_id: event.subject ?? '',
  status: 'REQUESTED',
  reason: null,
  says: '',
  requested_at: null,
  requested_by: null,
  retry_of: null,
  started_at: null,
  ended_at: null,
  generation: 0,
  agent_id: null,
  workflow_type: null,
  iterations: 0,
  step: null,
  spent: NO_COST,
  ...NO_DECISION,
});

const NO_DECISION = { decision: null, decided_by: null, decided_at: null, edge_converged_at: null } as const;

const requestedRun = (
  event: EventEnvelope,
  { run_id, retry_of }: RunEventPayload<'run_requested'>,
): RunSummary => ({
  ...newRun(event, run_id),
  requested_at: event.timestamp,
  requested_by: event.agent_id,
  retry_of,
});

function startedRun(
  before: RunSummary | undefined,
  event: EventEnvelope,
  { run_id, workflow_type, retry_of = null }: RunEventPayload<'run_started'>,
): RunSummary {
  if (before !== undefined && before.status !== 'REQUESTED') return before;
  const run = before ?? { ...newRun(event, run_id), retry_of };
  return { ...run, ...writerOf(run, event), status: 'RUNNING', started_at: event.timestamp, workflow_type };
}

function endedRun(
  before: RunSummary,
  event: EventEnvelope,
  { status, reason, says }: RunEventPayload<'run_ended'>,
): RunSummary {
  if (before.ended_at !== null) return before;
  // The writer of a cancellation is usually an operator, and not the run's executor.
  const writer = status === 'CANCELLED' ? {} : writerOf(before, event);
  return { ...before, ...writer, status, reason, says, ended_at: event.timestamp };
}

function withStep(before: RunSummary, event: EventEnvelope, payload: StepPayload): RunSummary {
  const { step, iteration } = payload;
  const status = event.event_type === 'run_suspended' ? 'WAITING' : 'RUNNING';
  return {
    ...before,
    ...writerOf(before, event),
    // The step that ends a run is completed after the run. A decision that a person makes in between must stay.
    ...(before.ended_at === null ? { status, ...NO_DECISION } : {}),
    iterations: Math.max(before.iterations, iteration),
    step,
    spent: addCost(before.spent, costOf(payload)),
  };
}

/** The run after an event of its claim. Only a decision on its candidate, and a convergence by that decision, change it. */
export function decidedRun(run: RunSummary, event: EventEnvelope): RunSummary {
  const { event_type, subject, generation, payload, timestamp } = event;
  if (run.task_id !== subject || run.generation !== generation) return run;
  const kind = claimEventKindOf(event_type);
  if (kind === 'reviewed') {
    if (run.status !== 'WAITING' && run.status !== 'ESCALATED') return run;
    const decided_by = String(payload.reviewer ?? event.agent_id);
    return { ...run, decision: String(payload.decision), decided_by, decided_at: timestamp };
  }
  const isConverged = kind === 'accepted' && run.status === 'ESCALATED' && run.decision === 'APPROVED';
  return isConverged ? { ...run, edge_converged_at: timestamp } : run;
}

const costOf = (payload: StepPayload): Cost => ('cost' in payload ? payload.cost : undefined) ?? NO_COST;

const writerOf = ({ generation }: RunSummary, event: EventEnvelope) => ({
  generation: event.generation ?? generation,
  agent_id: event.agent_id,
});

interface RunsOfEdge {
  /** How many runs the edge has had; those under way and those only requested count too. */
  count: number;
  /** The run whose first event is the most recent. */
  last_run_id: string;
  /** The run that was started most recently: decisions concern its candidate. */
  last_started_run_id: string | null;
  /** Ids of the runs that have not ended, oldest first. */
  readonly open: Set<string>;
}

/** The runs of a project without their steps, and what they have spent. Changed in place. */
export interface RunsState {
  /** In the order in which the log first mentions them. */
  readonly runs: Map<string, RunSummary>;
  readonly run_ids: string[];
  readonly edges: Map<string, RunsOfEdge>;
  readonly spent_by_feature: Map<string, Cost>;
  spent: Cost;
  position: number;
  last_updated: string | null;
}

export const emptyRunsState = (): RunsState => ({
  runs: new Map(),
  run_ids: [],
  edges: new Map(),
  spent_by_feature: new Map(),
  spent: NO_COST,
  position: 0,
  last_updated: null,
});

/** Folds one event into the state, at a cost that does not depend on the number of earlier events. */
export function evolveRuns(state: RunsState, event: EventEnvelope): void {
  state.position = event.position;
  state.last_updated = event.timestamp;
  const payload = runPayloadOf(event);
  if (payload === null) {
    decideStartedRun(state, event);
    return;
  }
  const before = state.runs.get(payload.run_id);
  const after = evolveRun(before, event, payload);
  if (after === undefined || after === before) return;
  state.runs.set(after.run_id, after);
  if (before === undefined) state.run_ids.push(after.run_id);
  recordOfEdge(state, before, after);
  if ('step' in payload) addSpent(state, after.task_id, costOf(payload));
}

function decideStartedRun({ edges, runs }: RunsState, event: EventEnvelope): void {
  const started = runs.get(edges.get(event.subject ?? '')?.last_started_run_id ?? '');
  if (started !== undefined) runs.set(started.run_id, decidedRun(started, event));
}

/** The run of an edge whose first event is the most recent; null if the edge has no run. */
export const lastRunOf = (
  { edges, runs }: Pick<RunsState, 'edges' | 'runs'>,
  subject: string,
): RunSummary | null => runs.get(edges.get(subject)?.last_run_id ?? '') ?? null;

/** Edges whose run has its decision from a person, and now waits for an executor to continue it. */
export function decidedEdges({ edges, runs }: RunsState): ReadonlySet<string> {
  const isDecided = (id: string): boolean => {
    const { status, decision } = runs.get(id) ?? {};
    return status === 'WAITING' && decision !== null;
  };
  return new Set([...edges].flatMap(([edge, { open }]) => ([...open].some(isDecided) ? [edge] : [])));
}

function recordOfEdge({ edges }: RunsState, before: RunSummary | undefined, after: RunSummary): void {
  const runsOfEdge = edges.get(after.task_id) ?? newRunsOfEdge(after.run_id);
  edges.set(after.task_id, runsOfEdge);
  if (after.started_at !== null && (before?.started_at ?? null) === null)
    runsOfEdge.last_started_run_id = after.run_id;
  if (before === undefined) {
    runsOfEdge.count += 1;
    runsOfEdge.last_run_id = after.run_id;
  }
  if (after.ended_at === null) runsOfEdge.open.add(after.run_id);
  else runsOfEdge.open.delete(after.run_id);
}

const newRunsOfEdge = (runId: string): RunsOfEdge => ({
  count: 0,
  last_run_id: runId,
  last_started_run_id: null,
  open: new Set(),
});

function addSpent(state: RunsState, taskId: string, cost: Cost): void {
  const { feature_id = '' } = subjectKeys(taskId);
  const { spent_by_feature } = state;
  spent_by_feature.set(feature_id, addCost(spent_by_feature.get(feature_id) ?? NO_COST, cost));
  state.spent = addCost(state.spent, cost);
}

/** The run of an edge that an executor continues: one that was started, otherwise the oldest request. */
export function openRunOf<Open extends Pick<RunSummary, 'ended_at' | 'started_at'>>(
  runs: readonly Open[],
): Open | undefined {
  const open = runs.filter(({ ended_at }) => ended_at === null);
  return open.findLast(({ started_at }) => started_at !== null) ?? open[0];
}
