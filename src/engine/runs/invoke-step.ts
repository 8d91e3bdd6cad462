import type { RunInput, StepHandlerName } from '../../core/engine/run-data.js';
import { runEventSchemas } from '../../core/engine/run-events.js';
import { openRunOf } from '../../core/engine/run-summaries.js';
import { foldRuns } from '../../core/engine/runs.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { coordinationError, isCoordinationFailure } from '../coordination.js';
import { engineError } from '../engine-error.js';
import { createHandlers } from '../handlers/create-handlers.js';
import { claimOf, readJson } from '../handlers/run-state.js';
import type { ClaimOfRun, EngineServices } from '../handlers/services.js';
import { MachineStopped } from '../interpreter/run-machine.js';
import { keepClaim, processTimer } from './keep-claim.js';
import { retriedRunId, withRetriedFindings } from './retried-findings.js';
import type { RunAuthor } from './run-events.js';
import { RunJournal } from './run-journal.js';
import { claimEdge, type RunRequest, startRun } from './start-run.js';
import { parsePayload, runStep } from './step-runner.js';

type ClaimOptions = Pick<RunRequest, 'agent_role' | 'lease_seconds'>;

/**
 * Runs one step of a machine that runs elsewhere, as a function on AWS does: between two steps, only the log keeps state.
 * The first step claims the edge. Returns null for a step that waits for a person; `answerWaitingTask` returns its result
 * later. Rejects with an `EngineError`, whose name the machine retries or catches.
 */
export async function invokeStep(
  services: EngineServices,
  name: StepHandlerName,
  payload: unknown,
  signal: AbortSignal,
  options: ClaimOptions = {},
): Promise<unknown> {
  const data = parsePayload(payload);
  if (name === 'claim_edge') return claimAndStartRun(services, data.run, options);
  const subject = edgeSubject(data.run.feature_id, data.run.edge);
  const author: RunAuthor = { subject, agent_id: services.agent_id, ...claimOf(data) };
  const isHeld = await renewOnce(services, author);
  const events = await services.coordination.eventsOf(subject);
  const runs = foldRuns(events);
  const loggedRun = runs.find(({ run_id }) => run_id === data.run.run_id);
  const retryOf = loggedRun?.retry_of ?? null;
  const runInput = await withRetriedFindings(services.blobs, data.run, retryOf, runs, events);
  const journal = new RunJournal(
    services.coordination,
    services.blobs,
    author,
    data.run.run_id,
    loggedRun ?? null,
  );
  const keptClaim = keepClaim(
    services,
    // Without a claim_id, keepClaim renews nothing.
    isHeld ? author : { ...author, claim_id: undefined },
    data.run.run_id,
    processTimer,
    signal,
  );
  try {
    const handlers = createHandlers(services);
    return await runStep(handlers, journal, name, { ...data, run: runInput }, keptClaim.signal, services.now);
  } catch (error) {
    if (error instanceof MachineStopped) return null;
    if (keptClaim.isLost()) throw engineError('claimLost', 'Another executor has the edge.');
    throw error;
  } finally {
    keptClaim.stop();
  }
}

/** Claims the edge and records the run, once. */
async function claimAndStartRun(
  services: EngineServices,
  runInput: RunInput,
  options: ClaimOptions,
): Promise<ClaimOfRun> {
  const { run_id, ...edge } = runInput;
  const request: RunRequest = { ...edge, ...options };
  const subject = edgeSubject(edge.feature_id, edge.edge);
  const claimReply = await claimEdge(request, services, subject);
  if (isCoordinationFailure(claimReply)) throw coordinationError(claimReply);
  if (!('claim_id' in claimReply)) throw engineError('claimLost', `${claimReply.reason}: ${claimReply.next}`);
  const events = await services.coordination.eventsOf(subject);
  const runs = foldRuns(events);
  const run = runs.find((logged) => logged.run_id === run_id);
  const author: RunAuthor = { subject, agent_id: services.agent_id, ...claimReply };
  if ((run?.started_at ?? null) === null)
    await startRun(request, services, author, { run_id, retry_of: retriedRunId(run, runs, events) });
  return claimReply;
}

/**
 * Renews the claim at every step: each step may be shorter than the renewal interval, and all steps together longer than
 * the lease.
 */
async function renewOnce({ coordination }: EngineServices, author: RunAuthor): Promise<boolean> {
  const { subject: task_id, session_id, claim_id, generation: expected_generation } = author;
  const reply = await coordination.renewLease({ task_id, session_id, claim_id, expected_generation });
  if (isCoordinationFailure(reply)) throw coordinationError(reply);
  // A refused renewal is no error: a person's decision may have ended the claim, and the last steps still record that.
  return reply.success;
}

interface TaskAnswer {
  readonly task_token: string;
  readonly result: unknown;
}

/**
 * The answer to the task in which the run of an edge waits for a person, with the token of the task. Null if no run waits,
 * or if there is no decision yet.
 */
export async function answerWaitingTask(
  services: EngineServices,
  subject: string,
  signal: AbortSignal,
): Promise<TaskAnswer | null> {
  const events = await services.coordination.eventsOf(subject);
  const run = openRunOf(foldRuns(events));
  if (run?.status !== 'WAITING') return null;
  const suspension = events.findLast(
    ({ event_type, payload }) => event_type === 'run_suspended' && payload.run_id === run.run_id,
  );
  const task = runEventSchemas.run_suspended.loose().parse(suspension?.payload).task;
  if (task === undefined) return null;
  const payload = await readJson(services.blobs, task);
  const { task_token } = parsePayload(payload);
  const result = await invokeStep(services, 'request_review', payload, signal);
  return result === null || task_token === undefined ? null : { task_token, result };
}
