import type { StateMachine } from '../../core/engine/asl.js';
import type { Cost } from '../../core/engine/check-outcome.js';
import { functionName } from '../../core/engine/compile-machine.js';
import { decidedEnd, endAfterNewGrant, mayRecordDecision } from '../../core/engine/decided-end.js';
import { handlerResults, type RunInput, type StepHandlerName } from '../../core/engine/run-data.js';
import { openRunOf } from '../../core/engine/run-summaries.js';
import { failedSteps, foldRuns, type Run } from '../../core/engine/runs.js';
import { truncatedSays } from '../../core/engine/says.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { EngineError } from '../engine-error.js';
import { createHandlers } from '../handlers/create-handlers.js';
import { readJson } from '../handlers/run-state.js';
import type { ClaimOfRun, EngineServices } from '../handlers/services.js';
import {
  type MachineHost,
  MachineStopped,
  type MachineTask,
  runMachine,
} from '../interpreter/run-machine.js';
import { hasDecision } from './decided-run.js';
import { keepClaim, type SetTimer } from './keep-claim.js';
import { retriedRunId, withRetriedFindings } from './retried-findings.js';
import { appendRunEvent, type RunAuthor } from './run-events.js';
import { RunJournal } from './run-journal.js';
import { claimEdge, type RefusedClaim, type RunRequest, sessionOf, startRun } from './start-run.js';
import { runStep } from './step-runner.js';

/** A step that has ended. Steps that an earlier execution completed are reported again. */
export interface StepEvent {
  /** The state of the machine. */
  readonly state: string;
  readonly check: string | null;
  readonly iteration: number;
  /** The cost of the run so far. */
  readonly spent: Cost;
  readonly result: unknown;
  readonly error: string | null;
}

export interface RunHost {
  /** The id of the next run of an edge; `runs` is the number of its earlier runs. */
  newRunId(claimId: string, runs: number): string;
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
  random(): number;
  readonly setTimer: SetTimer;
  /** Called for every state that is entered. `isReplayed`: the machine still repeats what an earlier execution recorded. */
  onState?(state: string, isReplayed: boolean): void;
  onStep?(step: StepEvent): void;
  onStart?(run: { run_id: string; machine: StateMachine; generation: number }): void;
}

export type RunEnd =
  | { readonly status: 'REFUSED'; readonly refusal: RefusedClaim }
  | { readonly status: 'ENDED' | 'WAITING'; readonly run: Run; readonly says: string }
  /** Another executor has taken the edge over, the run was cancelled, or the log has lost the run; `says` tells which. */
  | { readonly status: 'CLAIM_LOST'; readonly run_id: string; readonly says: string };

/**
 * Claims an edge and runs it until it converges, waits for a person or is handed to a person. An interrupted run
 * continues from its last completed step, under the claim that its executor had or under the next generation.
 */
export async function executeRun(
  request: RunRequest,
  services: EngineServices,
  host: RunHost,
  signal: AbortSignal,
): Promise<RunEnd> {
  const subject = edgeSubject(request.feature_id, request.edge);
  const claimReply = await claimEdge(request, services, subject);
  const events = await services.coordination.eventsOf(subject);
  const runs = foldRuns(events);
  const openRun = openRunOf(runs);
  const { agent_id } = services;
  if ('claim_id' in claimReply) {
    const author: RunAuthor = { subject, agent_id, ...claimReply };
    return runUnderClaim(
      request,
      services,
      host,
      { openRun, runs, events, author, claim: claimReply },
      signal,
    );
  }
  if (openRun === undefined || openRun.started_at === null || !hasDecision(openRun, events))
    return endOfRefusedRun(services, subject, claimReply, events);
  // The decision has ended the claim, so the steps that are left are recorded without a claim.
  const handle = { session_id: sessionOf(agent_id, subject), generation: openRun.generation };
  const author: RunAuthor = { subject, agent_id, claim_id: undefined, ...handle };
  const claim: ClaimOfRun = { claim_id: '', ...handle };
  return continueRun(request, services, host, { openRun, runs, events, author, claim }, signal);
}

interface ContinuedRun {
  readonly openRun: Run | undefined;
  /** The run that a new run retries. */
  readonly retryOf?: string | null;
  readonly runs: readonly Run[];
  readonly events: readonly EventEnvelope[];
  readonly author: RunAuthor;
  readonly claim: ClaimOfRun;
}

/**
 * Continues the open run, unless the decision on its candidate was undone: the edge was granted again although the
 * candidate was rejected, or the accepted result was reset. Then the open run ends, and a new run begins with its findings.
 */
async function runUnderClaim(
  request: RunRequest,
  services: EngineServices,
  host: RunHost,
  parts: ContinuedRun,
  signal: AbortSignal,
): Promise<RunEnd> {
  const { openRun, events, author } = parts;
  const end = openRun === undefined ? null : endAfterNewGrant(openRun, events);
  if (openRun === undefined || end === null) return continueRun(request, services, host, parts, signal);
  const { run_id, iterations, spent } = openRun;
  const payload = { run_id, ...end, iterations, spent };
  const appendOutcome = await unlessClaimLost(() =>
    appendRunEvent(services.coordination, author, 'run_ended', payload),
  );
  if (appendOutcome === null) return claimLost(run_id);
  const next: ContinuedRun = { ...parts, openRun: undefined, retryOf: run_id };
  return continueRun(request, services, host, next, signal);
}

async function continueRun(
  request: RunRequest,
  services: EngineServices,
  host: RunHost,
  { openRun, runs, events, author, claim, retryOf: overruledRunId }: ContinuedRun,
  signal: AbortSignal,
): Promise<RunEnd> {
  const { coordination, blobs } = services;
  const { subject, generation } = author;
  const retryOf = overruledRunId ?? retriedRunId(openRun, runs, events);
  const run_id = openRun?.run_id ?? host.newRunId(claim.claim_id, runs.length);
  const machine =
    openRun === undefined || openRun.machine === null
      ? await unlessClaimLost(() => startRun(request, services, author, { run_id, retry_of: retryOf }))
      : ((await readJson(blobs, openRun.machine)) as StateMachine);
  if (machine === null) return claimLost(run_id);
  if (openRun?.started_at === null && (await isCancelled(services, subject, run_id))) {
    await releaseEdge(services, author, 'VOLUNTARY', CANCELLED_TEXT);
    return claimLost(run_id, CANCELLED_TEXT);
  }
  host.onStart?.({ run_id, machine, generation });
  const failures = failedSteps(events, run_id);
  const journal = new RunJournal(coordination, blobs, author, run_id, openRun ?? null, failures);
  const { tenant_id, project_id, feature_id, edge } = request;
  const runInput = { run_id, tenant_id, project_id, feature_id, edge };
  const inputWithFindings = await withRetriedFindings(blobs, runInput, retryOf, runs, events);
  const says = await runSteps(
    services,
    host,
    { machine, journal, claim, runInput: inputWithFindings },
    signal,
  );
  const run = await fetchRun(services, subject, run_id);
  if (run === undefined) return claimLost(run_id, RUN_LOST_TEXT);
  if (says === null) return claimLost(run_id, run.status === 'CANCELLED' ? CANCELLED_TEXT : undefined);
  return { status: run.ended_at === null ? 'WAITING' : 'ENDED', run, says };
}

const CANCELLED_TEXT = 'The run was cancelled.';
const RUN_LOST_TEXT =
  'The log no longer contains this run: the store was restored from an older copy. Start a new run with gen iterate.';

const claimLost = (run_id: string, says = 'Another executor has the edge.'): RunEnd => ({
  status: 'CLAIM_LOST',
  run_id,
  says,
});

/** Whether the run has ended: a requested run can be cancelled while its executor starts it. */
async function isCancelled(services: EngineServices, subject: string, runId: string): Promise<boolean> {
  const run = await fetchRun(services, subject, runId);
  return run !== undefined && run.ended_at !== null;
}

/** Undefined if the log has lost the run: its store was restored from an older copy. */
async function fetchRun(
  { coordination }: EngineServices,
  subject: string,
  runId: string,
): Promise<Run | undefined> {
  return foldRuns(await coordination.eventsOf(subject)).find(({ run_id }) => run_id === runId);
}

/** Does the work. Returns null if the claim is lost meanwhile. */
async function unlessClaimLost<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EngineError && error.name === 'Engine.ClaimLost') return null;
    throw error;
  }
}

/** Records the end of a run that a person's decision has ended. The edge then has no holder, so no claim is needed. */
async function endOfRefusedRun(
  services: EngineServices,
  subject: string,
  refusal: RefusedClaim,
  events: readonly EventEnvelope[],
): Promise<RunEnd> {
  if (!('reason' in refusal) || !mayRecordDecision(refusal.reason)) return { status: 'REFUSED', refusal };
  const openRun = openRunOf(foldRuns(events));
  const end = openRun === undefined ? null : decidedEnd(openRun, events, refusal.reason);
  if (openRun === undefined || end === null) return { status: 'REFUSED', refusal };
  const { run_id, iterations, spent } = openRun;
  const { coordination, agent_id } = services;
  const session_id = sessionOf(agent_id, subject);
  const generation = lastGenerationOf(events) ?? openRun.generation;
  const author: RunAuthor = { subject, agent_id, session_id, claim_id: undefined, generation };
  const payload = { run_id, ...end, iterations, spent };
  const appendOutcome = await unlessClaimLost(() =>
    appendRunEvent(coordination, author, 'run_ended', payload),
  );
  // Another executor has claimed the edge meanwhile, and continues the run.
  if (appendOutcome === null) return { status: 'REFUSED', refusal };
  const run = await fetchRun(services, subject, run_id);
  return run === undefined ? claimLost(run_id, RUN_LOST_TEXT) : { status: 'ENDED', run, says: end.says };
}

/** The generation of the edge's head: later than the run's if an executor was granted the edge and died before a step. */
const lastGenerationOf = (events: readonly EventEnvelope[]): number | undefined =>
  events.findLast(({ seq }) => seq !== undefined)?.generation;

interface RunExecution {
  readonly machine: StateMachine;
  readonly journal: RunJournal;
  readonly claim: ClaimOfRun;
  readonly runInput: RunInput;
}

/** Runs the machine. Returns a message about its end, empty if it succeeded; null if the claim was lost. */
async function runSteps(
  services: EngineServices,
  host: RunHost,
  { machine, journal, claim, runInput }: RunExecution,
  signal: AbortSignal,
): Promise<string | null> {
  const handlers = createHandlers(services);
  const { run_id } = journal;
  const keptClaim = keepClaim(services, journal.author, run_id, host.setTimer, signal);
  const machineHost: MachineHost = {
    sleep: host.sleep,
    random: host.random,
    onState: (state) => host.onState?.(state, journal.isReplaying),
    runTask: (task) =>
      reportStep(host, journal, task, () =>
        runStep(handlers, journal, handlerOf(task), task.input, task.signal, services.now),
      ),
  };
  const input = { run: runInput, iteration: 1, claim };
  try {
    const outcome = await runMachine(machine, input, machineHost, keptClaim.signal);
    if (outcome.status === 'SUCCEEDED') return '';
    if (outcome.error === 'Engine.ClaimLost') return null;
    await endFailedRun(services, journal, outcome.error, outcome.cause);
    return outcome.cause;
  } catch (error) {
    if (keptClaim.isLost()) return null;
    if (error instanceof MachineStopped) return error.message;
    if (error instanceof EngineError && error.name === 'Engine.ClaimLost') return null;
    throw error;
  } finally {
    keptClaim.stop();
  }
}

/** Reports the end of the step to the host. A step of a stopped machine has not ended. */
async function reportStep(
  { onStep }: RunHost,
  journal: RunJournal,
  { state, input, signal }: MachineTask,
  run: () => Promise<unknown>,
): Promise<unknown> {
  const { check = null, iteration = 1 } = input as { check?: string; iteration?: number };
  const notifyStep = (result: unknown, error: string | null): void =>
    onStep?.({ state, check, iteration, spent: journal.spent, result, error });
  try {
    const result = await run();
    notifyStep(result, null);
    return result;
  } catch (error) {
    if (!(error instanceof MachineStopped) && !signal.aborted)
      notifyStep(null, error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** Ends a run whose machine has failed with an error that no state catches, and releases the edge. */
async function endFailedRun(
  services: EngineServices,
  journal: RunJournal,
  error: string,
  cause: string,
): Promise<void> {
  await appendRunEvent(services.coordination, journal.author, 'run_ended', {
    run_id: journal.run_id,
    status: 'FAILED',
    reason: error,
    says: truncatedSays(cause),
    iterations: journal.iterations,
    spent: journal.spent,
  });
  await releaseEdge(services, journal.author, 'ERROR', `${error}: ${cause}`);
}

async function releaseEdge(
  { coordination }: EngineServices,
  { subject, session_id, claim_id, generation }: RunAuthor,
  reason: 'ERROR' | 'VOLUNTARY',
  message: string,
): Promise<void> {
  await coordination.releaseClaim({
    task_id: subject,
    session_id,
    claim_id,
    expected_generation: generation,
    reason,
    message: truncatedSays(message),
  });
}

const HANDLER_BY_FUNCTION = new Map(
  (Object.keys(handlerResults) as StepHandlerName[]).map((handler) => [functionName(handler), handler]),
);

function handlerOf(task: MachineTask): StepHandlerName {
  const handler = HANDLER_BY_FUNCTION.get(task.function);
  if (handler === undefined)
    throw new Error(`The machine calls the function ${task.function}, which has no handler.`);
  return handler;
}
