import type { EventEnvelope } from '../events/envelope.js';
import { addCost, type Cost, NO_COST } from './check-outcome.js';
import type { BlobReference } from './run-data.js';
import { type RUN_STATUSES, type RunEventPayload, type RunEventType, runEventSchemas } from './run-events.js';

/** A step of a run in one iteration, over all its attempts. */
export interface RunStep {
  readonly step: string;
  readonly iteration: number;
  readonly attempts: number;
  readonly status: 'RUNNING' | 'COMPLETED' | 'FAILED' | 'WAITING';
  readonly input_sha256: string;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly output_ref: BlobReference | null;
  readonly error: string | null;
  readonly cause: string | null;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly duration_ms: number | null;
  readonly cost: Cost;
}

/** A run as the log tells it, never an execution's own history. */
export interface Run {
  readonly run_id: string;
  readonly subject: string;
  /** `WAITING`: for a person. */
  readonly status: 'RUNNING' | 'WAITING' | (typeof RUN_STATUSES)[number];
  readonly reason: string | null;
  readonly says: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Of the executor that wrote last. */
  readonly generation: number;
  readonly agent_id: string;
  readonly workflow_type: 'STANDARD' | 'EXPRESS';
  readonly machine: BlobReference;
  readonly machine_sha256: string;
  readonly config_sha256: string;
  readonly iterations: number;
  readonly steps: readonly RunStep[];
  readonly spent: Cost;
}

export const RUN_EVENT_TYPES = Object.keys(runEventSchemas) as RunEventType[];
export const isRunEvent = (eventType: string): eventType is RunEventType =>
  Object.hasOwn(runEventSchemas, eventType);

/** The runs that the events tell of, in the order in which they began. Events of other kinds are ignored. */
export function foldRuns(events: Iterable<EventEnvelope>): Run[] {
  const runs = new Map<string, Run>();
  for (const event of events) {
    if (!isRunEvent(event.event_type)) continue;
    const parsed = runEventSchemas[event.event_type].loose().safeParse(event.payload);
    if (!parsed.success) continue;
    const before = runs.get(parsed.data.run_id);
    const after = applyRunEvent(before, event, parsed.data);
    if (after !== undefined) runs.set(after.run_id, after);
  }
  return [...runs.values()];
}

/** The failed attempts of a run, oldest first. */
export function failedSteps(
  events: Iterable<EventEnvelope>,
  runId: string,
): RunEventPayload<'run_step_failed'>[] {
  return [...events].flatMap(({ event_type, payload }) => {
    if (event_type !== 'run_step_failed' || payload.run_id !== runId) return [];
    const parsed = runEventSchemas.run_step_failed.loose().safeParse(payload);
    return parsed.success ? [parsed.data] : [];
  });
}

type AnyPayload = RunEventPayload<RunEventType>;

function applyRunEvent(before: Run | undefined, event: EventEnvelope, payload: AnyPayload): Run | undefined {
  if (event.event_type === 'run_requested') return before;
  if (event.event_type === 'run_started')
    return before ?? startedRun(event, payload as RunEventPayload<'run_started'>);
  if (before === undefined) return undefined;
  const run = { ...before, generation: event.generation ?? before.generation, agent_id: event.agent_id };
  if (event.event_type === 'run_ended') {
    if (before.ended_at !== null) return before;
    const { status, reason, says } = payload as RunEventPayload<'run_ended'>;
    return { ...run, status, reason, says, ended_at: event.timestamp };
  }
  return withStep(run, changedStep(run, event, payload as StepPayload));
}

function startedRun(event: EventEnvelope, payload: RunEventPayload<'run_started'>): Run {
  const { run_id, workflow_type, machine, machine_sha256, config_sha256 } = payload;
  return {
    run_id,
    subject: event.subject ?? '',
    status: 'RUNNING',
    reason: null,
    says: '',
    started_at: event.timestamp,
    ended_at: null,
    generation: event.generation ?? 0,
    agent_id: event.agent_id,
    workflow_type,
    machine,
    machine_sha256,
    config_sha256,
    iterations: 0,
    steps: [],
    spent: NO_COST,
  };
}

type StepPayload = RunEventPayload<Exclude<RunEventType, 'run_requested' | 'run_started' | 'run_ended'>>;

function changedStep(run: Run, event: EventEnvelope, payload: StepPayload): RunStep {
  const { step, iteration, input_sha256 } = payload;
  const before = run.steps.find((each) => each.step === step && each.iteration === iteration);
  const base: RunStep = before ?? {
    step,
    iteration,
    attempts: 0,
    status: 'RUNNING',
    input_sha256,
    output: null,
    output_ref: null,
    error: null,
    cause: null,
    started_at: event.timestamp,
    ended_at: null,
    duration_ms: null,
    cost: NO_COST,
  };
  switch (event.event_type) {
    case 'run_step_started':
      return { ...base, input_sha256, attempts: base.attempts + 1, status: 'RUNNING', ended_at: null };
    case 'run_suspended':
      return { ...base, status: 'WAITING' };
    case 'run_step_completed': {
      const {
        output = null,
        output_ref = null,
        duration_ms,
        cost = NO_COST,
      } = payload as RunEventPayload<'run_step_completed'>;
      return {
        ...base,
        ...{ input_sha256, output, output_ref, duration_ms, error: null, cause: null },
        status: 'COMPLETED',
        ended_at: event.timestamp,
        cost: addCost(base.cost, cost),
      };
    }
    default: {
      const { error, cause, duration_ms, cost = NO_COST } = payload as RunEventPayload<'run_step_failed'>;
      const ended = { status: 'FAILED', ended_at: event.timestamp, cost: addCost(base.cost, cost) } as const;
      return { ...base, ...ended, error, cause, duration_ms };
    }
  }
}

function withStep(run: Run, step: RunStep): Run {
  const others = run.steps.filter((each) => each.step !== step.step || each.iteration !== step.iteration);
  const steps = [...others, step].sort((a, b) =>
    a.started_at < b.started_at ? -1 : a.started_at > b.started_at ? 1 : 0,
  );
  return {
    ...run,
    steps,
    // The step that ends a run is completed after it.
    status: run.ended_at !== null ? run.status : step.status === 'WAITING' ? 'WAITING' : 'RUNNING',
    iterations: Math.max(run.iterations, step.iteration),
    spent: steps.reduce((sum, { cost }) => addCost(sum, cost), NO_COST),
  };
}
