import type { RunDetails, RunSummary } from '../contract/runs.js';
import type { EventEnvelope } from '../events/envelope.js';
import { addCost, NO_COST } from './check-outcome.js';
import type { RunEventPayload } from './run-events.js';
import { decidedRun, evolveRun, runPayloadOf, type StepPayload } from './run-summaries.js';

/** A run as recorded in the log, not as an execution remembers it. */
export type Run = RunDetails;
/** A step of a run in one iteration, over all its attempts. */
export type RunStep = Run['steps'][number];

interface RunFold {
  summary: RunSummary;
  started: RunEventPayload<'run_started'> | null;
  /** By iteration and step, in the order in which they were first started. */
  readonly steps: Map<string, RunStep>;
}

/** The runs in the events, in the order of first mention. Of other events, only reviews and accepted results are used. */
export function foldRuns(events: Iterable<EventEnvelope>): Run[] {
  const folds = new Map<string, RunFold>();
  const lastStarted = new Map<string, RunFold>();
  for (const event of events) foldEvent(folds, lastStarted, event);
  return [...folds.values()].map(detailsOf);
}

/** The failed attempts of a run, oldest first. */
export const failedSteps = (
  events: readonly EventEnvelope[],
  runId: string,
): RunEventPayload<'run_step_failed'>[] =>
  events.flatMap((event) => {
    const payload = event.event_type === 'run_step_failed' ? runPayloadOf(event) : null;
    return payload?.run_id === runId ? [payload as RunEventPayload<'run_step_failed'>] : [];
  });

/** Folds one event. `lastStarted`: the run of each edge that was started last; a decision concerns its candidate. */
function foldEvent(
  folds: Map<string, RunFold>,
  lastStarted: Map<string, RunFold>,
  event: EventEnvelope,
): void {
  const payload = runPayloadOf(event);
  if (payload === null) {
    const started = lastStarted.get(event.subject ?? '');
    if (started !== undefined) started.summary = decidedRun(started.summary, event);
    return;
  }
  const existingFold = folds.get(payload.run_id);
  const summary = evolveRun(existingFold?.summary, event, payload);
  if (summary === undefined || summary === existingFold?.summary) return;
  const fold = existingFold ?? { summary, started: null, steps: new Map<string, RunStep>() };
  fold.summary = summary;
  folds.set(summary.run_id, fold);
  if (event.event_type === 'run_started') {
    fold.started = payload as RunEventPayload<'run_started'>;
    lastStarted.set(summary.task_id, fold);
  }
  if (!('step' in payload)) return;
  const name = `${payload.iteration} ${payload.step}`;
  fold.steps.set(name, changedStep(fold.steps.get(name), event, payload));
}

const detailsOf = ({ summary, started, steps }: RunFold): Run => ({
  ...summary,
  machine: started?.machine ?? null,
  machine_sha256: started?.machine_sha256 ?? null,
  config_sha256: started?.config_sha256 ?? null,
  steps: [...steps.values()],
});

function changedStep(before: RunStep | undefined, event: EventEnvelope, payload: StepPayload): RunStep {
  const { step, iteration, input_sha256 } = payload;
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
  // A step completed with this input stays completed: an executor that did not see the result may have tried it again.
  const isDone = base.status === 'COMPLETED' && base.input_sha256 === input_sha256;
  switch (event.event_type) {
    case 'run_step_started':
      if (isDone) return { ...base, attempts: base.attempts + 1 };
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
      if (isDone) return { ...base, cost: addCost(base.cost, cost) };
      const ended = { status: 'FAILED', ended_at: event.timestamp, cost: addCost(base.cost, cost) } as const;
      return { ...base, ...ended, error, cause, duration_ms };
    }
  }
}
