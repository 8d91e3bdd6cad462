import { claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { RunEventPayload } from '../../src/core/engine/run-events.js';
import { isRunEvent } from '../../src/core/engine/run-summaries.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { MAX_ITERATIONS } from '../runs/edges.js';
import type { SimWorld } from '../world/world.js';
import type { CoverageCounter } from './coverage.js';

/** A run as its events tell it, for checks. */
interface CheckedRun {
  readonly run_id: string;
  readonly subject: string;
  generation: number;
  /** The event that ended it. */
  ended: EventEnvelope | null;
  /** Of the last candidate. */
  candidate_sha256: string | null;
  /** The event that completed each step, by step, iteration and input. */
  readonly completed: Map<string, EventEnvelope>;
}

interface AcceptedCandidate {
  readonly sha256: string;
  readonly position: number;
  readonly resets: number;
}

/** Steps that end a run: their own end comes after it, and they may be tried again. */
const LAST_STEPS: ReadonlySet<unknown> = new Set(['promote', 'escalate']);

type StartedStep = RunEventPayload<'run_step_started'>;

const keyOf = ({ step, iteration, input_sha256 }: StartedStep): string =>
  JSON.stringify([step, iteration, input_sha256]);

/**
 * What an execution knows of the log: the part that it has read, and its own events that were confirmed. A request of a
 * dead process may arrive after that, and complete a step which the next one begins.
 */
export class ExecutionKnowledge {
  read_to = 0;
  readonly confirmed = new Set<string>();

  has({ position, event_id }: EventEnvelope): boolean {
    return position <= this.read_to || this.confirmed.has(event_id);
  }
}

/** Checks the runs of one project event by event, from the log alone. */
export class RunChecks {
  private readonly runs = new Map<string, CheckedRun>();
  private readonly openRuns = new Map<string, CheckedRun>();
  private readonly accepted = new Map<string, AcceptedCandidate[]>();
  /** How often each subject was reset. */
  private readonly resets = new Map<string, number>();
  private readonly executions = new Map<string, ExecutionKnowledge>();
  private readonly startedAt = new Map<string, number>();

  constructor(
    private readonly world: SimWorld,
    private readonly coverage: CoverageCounter,
  ) {}

  /** A new execution begins, and knows nothing yet. */
  newExecution(agentId: string): ExecutionKnowledge {
    const knowledge = new ExecutionKnowledge();
    this.executions.set(agentId, knowledge);
    return knowledge;
  }

  private knowledgeOf(agentId: string): ExecutionKnowledge {
    return this.executions.get(agentId) ?? new ExecutionKnowledge();
  }

  openRunIds(): string[] {
    return [...this.openRuns.values()].map(({ run_id }) => run_id);
  }

  addEvent(event: EventEnvelope): void {
    const { event_type, subject = '', payload, position } = event;
    const kind = claimEventKindOf(event_type);
    const resets = this.resets.get(subject) ?? 0;
    if (kind === 'reset') this.resets.set(subject, resets + 1);
    if (kind === 'accepted' || kind === 'adopted') {
      const sha256 = String(payload.result_sha256);
      this.accepted.set(subject, [...(this.accepted.get(subject) ?? []), { sha256, position, resets }]);
    }
    if (event_type === 'run_started') this.start(event);
    else if (isRunEvent(event_type) && event_type !== 'run_requested') this.continue(event);
  }

  private continue(event: EventEnvelope): void {
    const { event_type, payload } = event;
    const run = this.runs.get(String(payload.run_id));
    if (run === undefined) {
      this.violate(event, 'tells of a run that was never started');
      return;
    }
    this.checkGeneration(run, event);
    if (event_type === 'run_ended') this.end(run, event);
    else this.checkStep(run, event, payload as StartedStep);
  }

  private violate({ subject, position, event_type }: EventEnvelope, message: string): void {
    this.world.violate('RUN', `${subject} at ${position}: ${event_type} ${message}`);
  }

  private start(event: EventEnvelope): void {
    const { subject = '', generation = 0, position } = event;
    const run_id = String(event.payload.run_id);
    if (this.runs.has(run_id)) this.violate(event, 'of a run that has begun already');
    if (this.openRuns.has(subject)) this.violate(event, 'while another run of the edge is open');
    const run = {
      run_id,
      subject,
      generation,
      ended: null,
      candidate_sha256: null,
      completed: new Map(),
    };
    this.runs.set(run_id, run);
    this.openRuns.set(subject, run);
    this.startedAt.set(run_id, position);
  }

  private checkGeneration(run: CheckedRun, event: EventEnvelope): void {
    const { generation = 0 } = event;
    if (generation < run.generation)
      this.violate(event, `of generation ${generation} after ${run.generation}`);
    if (generation > run.generation) this.coverage.hit('run taken over');
    run.generation = Math.max(run.generation, generation);
  }

  private checkStep(run: CheckedRun, event: EventEnvelope, payload: StartedStep): void {
    const { step, iteration } = payload;
    const key = keyOf(payload);
    if (iteration > MAX_ITERATIONS)
      this.violate(event, `in iteration ${iteration} of at most ${MAX_ITERATIONS}`);
    if (run.ended !== null && !LAST_STEPS.has(step) && this.knowledgeOf(event.agent_id).has(run.ended))
      this.violate(event, `of ${step} after the run has ended`);
    if (event.event_type === 'run_step_started') {
      const completed = run.completed.get(key);
      if (completed !== undefined && this.knowledgeOf(event.agent_id).has(completed))
        this.violate(event, `of ${step}, which its executor knows to be completed`);
      if (payload.attempt > 1) this.coverage.hit('step tried again');
    }
    if (event.event_type !== 'run_step_completed') return;
    if (run.completed.has(key)) this.violate(event, `of ${step} for the second time with this input`);
    run.completed.set(key, event);
    const { output } = event.payload as RunEventPayload<'run_step_completed'>;
    if (step === 'construct_candidate') run.candidate_sha256 = String(output?.sha256);
  }

  private end(run: CheckedRun, event: EventEnvelope): void {
    if (run.ended !== null) this.violate(event, 'for the second time');
    run.ended ??= event;
    this.openRuns.delete(run.subject);
    const { status, reason } = event.payload as RunEventPayload<'run_ended'>;
    if (status === 'CONVERGED') this.coverage.hit('run converged');
    if (status === 'ESCALATED') this.coverage.hit('run escalated');
    const begunAt = this.startedAt.get(run.run_id) ?? 0;
    const results = (this.accepted.get(run.subject) ?? []).filter(({ position }) => position > begunAt);
    const own = results.filter(({ sha256 }) => sha256 === run.candidate_sha256);
    // A person may reset the edge before the run is known to have converged; the run may then converge again.
    const lastOwn = own.filter(({ resets }) => resets === own.at(-1)?.resets);
    if (status === 'CONVERGED' && lastOwn.length !== 1)
      this.violate(event, `CONVERGED, but its last candidate was accepted ${lastOwn.length} times`);
    if (
      status === 'ESCALATED' &&
      results.some(({ resets }) => resets === (this.resets.get(run.subject) ?? 0))
    )
      this.violate(event, `ESCALATED (${reason}), but its candidate was accepted`);
  }
}
