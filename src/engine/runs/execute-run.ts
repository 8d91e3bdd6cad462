import type { StateMachine } from '../../core/engine/asl.js';
import { functionName } from '../../core/engine/compile-machine.js';
import { handlerResults, type StepHandlerName } from '../../core/engine/run-data.js';
import { failedSteps, foldRuns, type Run } from '../../core/engine/runs.js';
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
import {
  claimEdge,
  openRunOf,
  type RefusedClaim,
  type RunRequest,
  sessionOf,
  startRun,
} from './begin-run.js';
import { isDecided } from './decided-run.js';
import { keepClaim } from './keep-claim.js';
import { appendRunEvent, type RunAuthor } from './run-events.js';
import { RunJournal } from './run-journal.js';
import { runStep } from './step-runner.js';

export interface RunHost {
  newRunId(): string;
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
  random(): number;
  /** Is told of every state that is entered, and of the run when it begins. */
  onState?(state: string): void;
  onStart?(run: { run_id: string; machine: StateMachine; generation: number }): void;
}

export type RunEnd =
  | { readonly status: 'REFUSED'; readonly refusal: RefusedClaim }
  | { readonly status: 'ENDED' | 'WAITING'; readonly run: Run; readonly says: string }
  /** Another executor has taken the edge over. */
  | { readonly status: 'CLAIM_LOST'; readonly run_id: string; readonly says: string };

/**
 * Runs an edge until it converges, waits for a person or is handed to one. Claims it first; a run that was cut off goes
 * on from its last completed step, under the claim that its executor had or the next generation.
 */
export async function executeRun(
  request: RunRequest,
  services: EngineServices,
  host: RunHost,
  signal: AbortSignal,
): Promise<RunEnd> {
  const subject = edgeSubject(request.feature_id, request.edge);
  const claimed = await claimEdge(request, services, subject);
  // Read under the claim: nobody else adds to the run now.
  const events = await services.coordination.eventsOf(subject);
  const open = openRunOf(events);
  if ('claim_id' in claimed) {
    const author: RunAuthor = { subject, agent_id: services.agent_id, ...claimed };
    return continueRun(request, services, host, { open, events, author, claim: claimed }, signal);
  }
  if (open === undefined || !isDecided(open, events)) return refused(services, subject, claimed, open);
  // Nobody else can hold the edge, so the remaining steps are recorded without a claim.
  const handle = { session_id: sessionOf(services.agent_id, subject), generation: open.generation };
  const author: RunAuthor = { subject, agent_id: services.agent_id, claim_id: undefined, ...handle };
  const claim: ClaimOfRun = { claim_id: '', ...handle };
  return continueRun(request, services, host, { open, events, author, claim }, signal);
}

/** An edge that has converged without the run leaves it nothing to do. */
async function refused(
  { coordination, agent_id }: EngineServices,
  subject: string,
  refusal: RefusedClaim,
  open: Run | undefined,
): Promise<RunEnd> {
  const isCompleted = 'reason' in refusal && refusal.reason === 'DENIED_COMPLETED';
  if (open === undefined || !isCompleted) return { status: 'REFUSED', refusal };
  const { run_id, iterations, spent, generation } = open;
  const session_id = sessionOf(agent_id, subject);
  const author: RunAuthor = { subject, agent_id, session_id, claim_id: undefined, generation };
  const says = 'The edge has converged with another result.';
  const end = { run_id, status: 'CONVERGED', reason: null, says, iterations, spent } as const;
  await appendRunEvent(coordination, author, 'run_ended', end);
  const run = foldRuns(await coordination.eventsOf(subject)).find((each) => each.run_id === run_id);
  return { status: 'ENDED', run: run ?? open, says };
}

interface ContinuedRun {
  readonly open: Run | undefined;
  readonly events: readonly EventEnvelope[];
  readonly author: RunAuthor;
  readonly claim: ClaimOfRun;
}

async function continueRun(
  request: RunRequest,
  services: EngineServices,
  host: RunHost,
  { open, events, author, claim }: ContinuedRun,
  signal: AbortSignal,
): Promise<RunEnd> {
  const run_id = open?.run_id ?? host.newRunId();
  const machine =
    open === undefined ? await startRun(request, services, author, run_id) : await machineOf(services, open);
  host.onStart?.({ run_id, machine, generation: author.generation });
  const { coordination, blobs } = services;
  const failures = failedSteps(events, run_id);
  const journal = new RunJournal(coordination, blobs, author, run_id, open ?? null, failures);
  const says = await runSteps(request, services, host, { machine, journal, claim }, signal);
  if (says === null) return { status: 'CLAIM_LOST', run_id, says: 'Another executor has the edge.' };
  const run = foldRuns(await coordination.eventsOf(author.subject)).find((each) => each.run_id === run_id);
  if (run === undefined) throw new Error(`the log has no run ${run_id}`);
  return { status: run.ended_at === null ? 'WAITING' : 'ENDED', run, says };
}

const machineOf = async ({ blobs }: EngineServices, run: Run): Promise<StateMachine> =>
  (await readJson(blobs, run.machine)) as StateMachine;

interface RunParts {
  readonly machine: StateMachine;
  readonly journal: RunJournal;
  readonly claim: ClaimOfRun;
}

/** What to tell about the end; null if the claim was lost. */
async function runSteps(
  { tenant_id, project_id, feature_id, edge }: RunRequest,
  services: EngineServices,
  host: RunHost,
  { machine, journal, claim }: RunParts,
  signal: AbortSignal,
): Promise<string | null> {
  const handlers = createHandlers(services);
  const kept = keepClaim(services, journal.author, journal.run_id, signal);
  const machineHost: MachineHost = {
    sleep: host.sleep,
    random: host.random,
    ...(host.onState === undefined ? {} : { onState: host.onState }),
    runTask: (task) => runStep(handlers, journal, handlerOf(task), task.input, task.signal, services.now),
  };
  const { run_id } = journal;
  const input = { run: { run_id, tenant_id, project_id, feature_id, edge }, iteration: 1, claim };
  try {
    const outcome = await runMachine(machine, input, machineHost, kept.signal);
    if (outcome.status === 'SUCCEEDED') return '';
    if (outcome.error === 'Engine.ClaimLost') return null;
    await endFailed(services, journal, outcome.error, outcome.cause);
    return outcome.cause;
  } catch (error) {
    if (kept.isLost()) return null;
    if (error instanceof MachineStopped) return error.message;
    if (error instanceof EngineError && error.name === 'Engine.ClaimLost') return null;
    throw error;
  } finally {
    kept.stop();
  }
}

/** A machine that ends in an error which no state catches. */
async function endFailed(
  services: EngineServices,
  journal: RunJournal,
  error: string,
  cause: string,
): Promise<void> {
  await appendRunEvent(services.coordination, journal.author, 'run_ended', {
    run_id: journal.run_id,
    status: 'FAILED',
    reason: error,
    says: cause.slice(0, SAYS_CHARS_MAX),
    iterations: journal.iterations,
    spent: journal.spent,
  });
  const { subject, session_id, claim_id, generation } = journal.author;
  await services.coordination.releaseClaim({
    task_id: subject,
    session_id,
    claim_id,
    expected_generation: generation,
    reason: 'ERROR',
    message: `${error}: ${cause}`.slice(0, SAYS_CHARS_MAX),
  });
}

const SAYS_CHARS_MAX = 2000;

const HANDLER_BY_FUNCTION = new Map(
  (Object.keys(handlerResults) as StepHandlerName[]).map((handler) => [functionName(handler), handler]),
);

function handlerOf(task: MachineTask): StepHandlerName {
  const handler = HANDLER_BY_FUNCTION.get(task.function);
  if (handler === undefined) throw new Error(`no handler is called ${task.function}`);
  return handler;
}
