import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { EventEnvelope } from '../events/envelope.js';
import type { RunEventPayload } from './run-events.js';
import { runPayloadOf, type StepPayload } from './run-summaries.js';

/** The rules of runs that can be checked in a log. */
export const RUN_RULES = {
  'RUN-01': 'the generation of a run never decreases',
  'RUN-02': 'a run converges only if a result of its edge was accepted after the run began',
  'RUN-03': 'a run does not fail or escalate while a result of its edge is accepted',
  'RUN-04': 'a run starts once and ends once',
  'RUN-05': 'an edge has one started run at a time',
  'RUN-06': 'a step is completed once with the same input',
  'RUN-07': 'no step follows the end of its run, except the one that ends it',
  'RUN-08': 'every event of a run follows its start, on the same edge',
} as const;
export type RunRule = keyof typeof RUN_RULES;

/**
 * The rules of which a violation means that the log is damaged, because the coordinator refuses events that break them.
 * A violation of the other rules is only noted: most of them depend on what executors report.
 */
const ENFORCED_RULES: ReadonlySet<RunRule> = new Set(['RUN-01', 'RUN-02']);
export const isEnforcedRule = (rule: RunRule): boolean => ENFORCED_RULES.has(rule);

interface RunViolation {
  readonly rule: RunRule;
  readonly run_id: string;
  readonly subject: string;
  readonly says: string;
}

type EventReference = Pick<EventEnvelope, 'position' | 'event_id'>;

interface LoggedRun {
  readonly run_id: string;
  readonly subject: string;
  readonly first_position: number;
  generation: number;
  isStarted: boolean;
  endEvent: EventReference | null;
  /** By step, iteration and input. */
  completed: Map<string, EventReference>;
}

/** The last accepted result of an edge: the position of its event in the log, and whether it still counts (was not reset). */
interface EdgeResults {
  readonly accepted_position: number;
  readonly isInForce: boolean;
}

/** Steps that end their run: `run_ended` is recorded during the step, so the completion of the step follows the end. */
const LAST_STEPS: ReadonlySet<string> = new Set(['promote', 'escalate']);
const RESULT_KINDS: ReadonlySet<unknown> = new Set(['accepted', 'adopted']);

/** Checks the events of runs in the order of the log. */
export class RunLogChecker {
  private readonly runs = new Map<string, LoggedRun>();
  private readonly openRuns = new Map<string, LoggedRun>();
  private readonly results = new Map<string, EdgeResults>();

  /** Started runs that have not ended. */
  get open(): Iterable<LoggedRun> {
    return this.openRuns.values();
  }

  runOf(runId: string): Readonly<LoggedRun> | undefined {
    return this.runs.get(runId);
  }

  checkEvent(event: EventEnvelope): RunViolation[] {
    const { subject, position } = event;
    if (subject === undefined) return [];
    const kind = claimEventKindOf(event.event_type);
    const results = this.results.get(subject);
    if (RESULT_KINDS.has(kind)) this.results.set(subject, { accepted_position: position, isInForce: true });
    if (kind === 'reset' && results !== undefined)
      this.results.set(subject, { ...results, isInForce: false });
    const payload = runPayloadOf(event);
    if (payload === null) return [];
    const violations: RunViolation[] = [];
    const report: Report = (rule, what) => {
      const says = `position ${position}: ${event.event_type} of run ${payload.run_id}, recorded by ${event.agent_id}, ${what}; ${RUN_RULES[rule]}`;
      violations.push({ rule, run_id: payload.run_id, subject, says });
    };
    this.checkRunEvent(event, subject, payload, report);
    return violations;
  }

  private checkRunEvent(event: EventEnvelope, subject: string, payload: RunPayload, report: Report): void {
    const { event_type, generation = 0, position } = event;
    const loggedRun = this.runs.get(payload.run_id);
    if (loggedRun !== undefined && loggedRun.subject !== subject) {
      report('RUN-08', `belongs to a run of ${loggedRun.subject}`);
      return;
    }
    if (event_type === 'run_requested' || event_type === 'run_started') {
      const run = loggedRun ?? newRun(payload.run_id, subject, position);
      this.runs.set(run.run_id, run);
      if (event_type === 'run_started') this.start(run, generation, report);
      return;
    }
    if (loggedRun === undefined || (!loggedRun.isStarted && event_type !== 'run_ended')) {
      report('RUN-08', 'comes before the start of the run');
      return;
    }
    checkGeneration(loggedRun, event, report);
    if ('step' in payload) checkStep(loggedRun, event, payload, report);
    else this.end(loggedRun, event, payload as RunEventPayload<'run_ended'>, report);
  }

  private start(run: LoggedRun, generation: number, report: Report): void {
    if (run.isStarted || run.endEvent !== null) {
      report('RUN-04', run.endEvent === null ? 'starts it again' : 'starts it after its end');
      return;
    }
    const other = this.openRuns.get(run.subject);
    if (other !== undefined) report('RUN-05', `starts while run ${other.run_id} is open`);
    run.isStarted = true;
    run.generation = generation;
    this.openRuns.set(run.subject, run);
  }

  private end(
    run: LoggedRun,
    event: EventEnvelope,
    { status }: RunEventPayload<'run_ended'>,
    report: Report,
  ): void {
    if (run.endEvent !== null) {
      report('RUN-04', `ends it again (first at position ${run.endEvent.position})`);
      return;
    }
    const { position, event_id } = event;
    run.endEvent = { position, event_id };
    if (this.openRuns.get(run.subject) === run) this.openRuns.delete(run.subject);
    const results = this.results.get(run.subject);
    if (status === 'CONVERGED' && (results?.accepted_position ?? 0) < run.first_position)
      report('RUN-02', 'says CONVERGED, but no result was accepted since the run began');
    const isLive = results?.isInForce === true && results.accepted_position > run.first_position;
    if ((status === 'ESCALATED' || status === 'FAILED') && isLive)
      report('RUN-03', `says ${status}, but a result was accepted at position ${results.accepted_position}`);
  }
}

type RunPayload = NonNullable<ReturnType<typeof runPayloadOf>>;
type Report = (rule: RunRule, problem: string) => void;

const newRun = (run_id: string, subject: string, position: number): LoggedRun => ({
  run_id,
  subject,
  first_position: position,
  generation: 0,
  isStarted: false,
  endEvent: null,
  completed: new Map(),
});

function checkGeneration(run: LoggedRun, { generation }: EventEnvelope, report: Report): void {
  // A cancellation by an operator has no generation.
  if (generation === undefined) return;
  if (generation < run.generation)
    report('RUN-01', `has generation ${generation}, but an earlier event of the run has ${run.generation}`);
  run.generation = Math.max(run.generation, generation);
}

export const completedStepKey = ({ step, iteration, input_sha256 }: StepPayload): string =>
  JSON.stringify([step, iteration, input_sha256]);

function checkStep(run: LoggedRun, event: EventEnvelope, payload: StepPayload, report: Report): void {
  const { step, iteration } = payload;
  if (run.endEvent !== null && !LAST_STEPS.has(step))
    report('RUN-07', `is about step ${step}, but the run ended at position ${run.endEvent.position}`);
  if (event.event_type !== 'run_step_completed') return;
  const key = completedStepKey(payload);
  const firstCompletion = run.completed.get(key);
  if (firstCompletion !== undefined)
    report(
      'RUN-06',
      `completes ${step} of iteration ${iteration} again (first at position ${firstCompletion.position})`,
    );
  else run.completed.set(key, { position: event.position, event_id: event.event_id });
}
