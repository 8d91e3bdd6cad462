import { claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { RunEventPayload } from '../../src/core/engine/run-events.js';
import { completedStepKey, RunLogChecker } from '../../src/core/engine/run-log-checker.js';
import { isRunEvent } from '../../src/core/engine/run-summaries.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { MAX_ITERATIONS } from '../runs/edges.js';
import type { SimWorld } from '../world/world.js';
import type { CoverageCounter } from './coverage.js';

type EventReference = Pick<EventEnvelope, 'position' | 'event_id'>;

interface AcceptedCandidate {
  readonly sha256: string;
  readonly position: number;
  readonly resets: number;
}

type StartedStep = RunEventPayload<'run_step_started'>;

/**
 * What an execution knows of the log: the part that it has read, and its own events that were confirmed. A late request of
 * a dead process is not known to the next execution, which may then begin a step that the request completes.
 */
export class ExecutionKnowledge {
  readToPosition = 0;
  readonly confirmedEventIds = new Set<string>();

  has({ position, event_id }: EventReference): boolean {
    return position <= this.readToPosition || this.confirmedEventIds.has(event_id);
  }
}

/**
 * Checks the runs of one project event by event: against the rules for every log, the knowledge of the executors and the
 * decisions of people.
 */
export class RunChecks {
  private readonly checker = new RunLogChecker();
  private readonly accepted = new Map<string, AcceptedCandidate[]>();
  /** How often each subject was reset. */
  private readonly resets = new Map<string, number>();
  /** The last candidate of each run. */
  private readonly candidates = new Map<string, string>();
  private readonly executions = new Map<string, ExecutionKnowledge>();

  constructor(
    private readonly world: SimWorld,
    private readonly coverage: CoverageCounter,
  ) {}

  /** Begins a new execution, which has read nothing of the log yet. */
  newExecution(agentId: string): ExecutionKnowledge {
    const knowledge = new ExecutionKnowledge();
    this.executions.set(agentId, knowledge);
    return knowledge;
  }

  private knows({ agent_id }: EventEnvelope, event: EventReference): boolean {
    return this.executions.get(agent_id)?.has(event) ?? false;
  }

  openRunIds(): string[] {
    return [...this.checker.open].map(({ run_id }) => run_id);
  }

  addEvent(event: EventEnvelope): void {
    const { event_type, payload } = event;
    this.addResult(event);
    const run = this.checker.runOf(String(payload.run_id));
    const isTakenOver = run?.isStarted === true && (event.generation ?? 0) > run.generation;
    if (isRunEvent(event_type) && isTakenOver) this.coverage.hit('run taken over');
    if (event_type === 'run_step_started') this.checkStarted(event, payload as StartedStep);
    for (const { rule, says } of this.checker.checkEvent(event))
      if (rule !== 'RUN-07' || this.isEndKnown(event))
        this.world.reportViolation(rule, `${event.subject}: ${says}`);
    if (event_type === 'run_step_completed') this.rememberCandidate(event);
    if (event_type === 'run_ended') this.checkEnd(event, payload as RunEventPayload<'run_ended'>);
  }

  private addResult({ event_type, subject = '', payload, position }: EventEnvelope): void {
    const kind = claimEventKindOf(event_type);
    const resets = this.resets.get(subject) ?? 0;
    if (kind === 'reset') this.resets.set(subject, resets + 1);
    if (kind !== 'accepted' && kind !== 'adopted') return;
    const sha256 = String(payload.result_sha256);
    this.accepted.set(subject, [...(this.accepted.get(subject) ?? []), { sha256, position, resets }]);
  }

  /** Whether the author of the event knew that the run had ended. If not, the event of a late request is no violation. */
  private isEndKnown(event: EventEnvelope): boolean {
    const end = this.checker.runOf(String(event.payload.run_id))?.endEvent ?? null;
    return end !== null && this.knows(event, end);
  }

  private reportViolation({ subject, position, event_type }: EventEnvelope, message: string): void {
    this.world.reportViolation('RUN', `${subject} at ${position}: ${event_type} ${message}`);
  }

  private checkStarted(event: EventEnvelope, payload: StartedStep): void {
    const { step, iteration, attempt } = payload;
    if (iteration > MAX_ITERATIONS)
      this.reportViolation(event, `in iteration ${iteration} of at most ${MAX_ITERATIONS}`);
    const completed = this.checker.runOf(payload.run_id)?.completed.get(completedStepKey(payload));
    if (completed !== undefined && this.knows(event, completed))
      this.reportViolation(event, `of ${step}, which its executor knows to be completed`);
    if (attempt > 1) this.coverage.hit('step retried');
  }

  private rememberCandidate({ payload }: EventEnvelope): void {
    const { run_id, step, output } = payload as RunEventPayload<'run_step_completed'>;
    if (step === 'construct_candidate') this.candidates.set(run_id, String(output?.sha256));
  }

  /** A converged run has one accepted result: its last candidate. */
  private checkEnd(event: EventEnvelope, { run_id, status }: RunEventPayload<'run_ended'>): void {
    if (status === 'CONVERGED') this.coverage.hit('run converged');
    if (status === 'ESCALATED') this.coverage.hit('run escalated');
    const run = this.checker.runOf(run_id);
    if (status !== 'CONVERGED' || run === undefined) return;
    const resets = this.resets.get(run.subject) ?? 0;
    const acceptedOfRun = (this.accepted.get(run.subject) ?? []).filter(
      ({ sha256, position, ...result }) =>
        position > run.first_position && result.resets === resets && sha256 === this.candidates.get(run_id),
    );
    if (acceptedOfRun.length !== 1)
      this.reportViolation(
        event,
        `CONVERGED, but its last candidate is the result of ${acceptedOfRun.length} submissions`,
      );
  }
}
