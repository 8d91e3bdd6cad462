import { type AutoAdvice, type AutoEdge, nextAutoStep } from '../../core/engine/auto-step.js';
import { nextCommandOf } from '../../core/engine/run-advice.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { isCoordinationFailure } from '../../engine/coordination.js';
import type { RunEnd } from '../../engine/runs/execute-run.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, failureWithCode } from '../exit.js';
import { reportStopped, showRun } from '../output/run.js';
import { joinFirst, withFullStop } from '../output/text.js';
import { type AutoScope, readAutoFacts } from './auto-facts.js';
import { followChanges } from './follow-changes.js';
import { lastCandidate, waitForPromotion } from './promoted-files.js';
import { remoteBlobs } from './remote-blobs.js';
import { executorName, type RunEdgeOptions, runEdge } from './run-edge.js';

interface AutoOptions extends RunEdgeOptions {
  readonly feature_id: string | null;
  /** The edge of that feature to begin with; null: none is named. */
  readonly edge: string | null;
  readonly isLoop: boolean;
}

/**
 * Runs edge after edge until nothing is ready, a person is needed, the limit of runs is reached, or the signal aborts. With
 * `isLoop` only the signal or an error ends it: it waits if nothing is ready.
 */
export async function autoIterate(
  context: CommandContext,
  options: AutoOptions,
  signal: AbortSignal,
): Promise<void> {
  const { feature_id, isLoop, edge, agent_role } = options;
  const genesis = await context.genesis();
  const agent_id = await executorName(context);
  const scope: AutoScope = {
    workspace: context.requireWorkspace(),
    genesis,
    agent_id,
    agent_role,
    feature_id,
  };
  const setAside = new Set<string>();
  const changes = isLoop ? followChanges(genesis, agent_id, setAside, signal) : null;
  const isNamed = feature_id !== null && edge !== null;
  let first: AutoEdge | null = isNamed ? { feature_id, edge, has_constructor: true } : null;
  let pause: AutoAdvice | null = null;
  let last_feature_id: string | null = null;
  for (let runs = 0; ; ) {
    const facts = await readAutoFacts(scope, setAside);
    const progress = {
      feature_id,
      is_loop: isLoop,
      first,
      set_aside: setAside,
      pause,
      runs,
      last_feature_id,
    };
    const step = nextAutoStep({ ...facts, ...progress });
    if (step.kind === 'DONE') return context.printReply({ status: 'DONE', says: step.says }, () => step.says);
    if (step.kind === 'PAUSE') return showPause(context, step);
    if (step.kind === 'LIMIT') throw new CommandFailure(step.says);
    if (step.kind === 'WAIT') {
      context.warn(`${step.says} Waiting for changes.`);
      await changes?.wait();
    } else {
      // The edge is set aside before its run, because a review during the run may make it available again.
      setAside.add(edgeSubject(step.edge.feature_id, step.edge.edge));
      const isNamedEdge = step.edge === first;
      pause = await runNext(context, step.edge, { ...options, isNamedEdge }, setAside, signal);
      runs += 1;
      [first, last_feature_id] = [null, step.edge.feature_id];
      if (pause !== null && isLoop) context.warn(`${pause.says} ${pause.next}`.trim());
    }
    if (signal.aborted) return reportStopped(context);
  }
}

/** Runs the edge. Returns why a person should look at it afterwards; null if there is no reason, or the signal aborted. */
async function runNext(
  context: CommandContext,
  edge: AutoEdge,
  options: AutoOptions & { readonly isNamedEdge: boolean },
  setAside: Set<string>,
  signal: AbortSignal,
): Promise<AutoAdvice | null> {
  const subject = edgeSubject(edge.feature_id, edge.edge);
  let end: RunEnd;
  try {
    end = await runEdge(context, edge, options, signal);
  } catch (error) {
    if (!options.isLoop || !isSkippable(error, options.isNamedEdge)) throw error;
    return { says: `${subject} was not run: ${error.message}`, next: '' };
  }
  if (signal.aborted) return null;
  if (end.status === 'CLAIM_LOST' || end.status === 'REFUSED') {
    reportNotRun(context, subject, end);
    return null;
  }
  showRun(end.run, context);
  if (end.run.status !== 'CONVERGED') return pauseAfter(end, subject);
  setAside.delete(subject);
  return waitUntilPromoted(context, end, signal);
}

/**
 * Whether `--loop` continues with other edges after this failure. It usually concerns only this edge, such as a missing
 * evaluator. A failure that concerns all edges, such as a lost server, occurs again when the next edge is chosen. On an edge
 * that the command line names, only a failure that a person can resolve is skipped, such as a command that is not confirmed.
 */
const isSkippable = (error: unknown, isNamedEdge: boolean): error is CommandFailure =>
  error instanceof CommandFailure && (error.exitCode === EXIT.human || !isNamedEdge);

/** Reports why the run of the edge did not reach its end here: its claim was refused or lost. */
function reportNotRun(
  context: CommandContext,
  subject: string,
  end: Extract<RunEnd, { status: 'REFUSED' | 'CLAIM_LOST' }>,
): void {
  if (end.status === 'CLAIM_LOST') {
    context.warn(`${subject}: ${end.says}`);
    return;
  }
  const { refusal } = end;
  if (isCoordinationFailure(refusal)) throw failureWithCode(refusal.code, refusal.detail);
  context.warn(`${subject} was not run: ${refusal.reason}. ${refusal.next}`);
}

function pauseAfter(
  { run, says }: Extract<RunEnd, { status: 'ENDED' | 'WAITING' }>,
  subject: string,
): AutoAdvice {
  const next = nextCommandOf(run) ?? 'gen runs';
  if (run.status === 'WAITING') return { says: `${subject} waits for a review.`, next };
  if (run.status !== 'ESCALATED') return { says: `${subject}: ${says}`, next };
  return { says: withFullStop(`${subject} needs a person: ${run.reason}`), next };
}

/**
 * Waits until the files of the run are in the project, because the next edge builds on them. Returns advice for a person
 * if some are still missing; otherwise null.
 */
async function waitUntilPromoted(
  context: CommandContext,
  { run }: Extract<RunEnd, { status: 'ENDED' | 'WAITING' }>,
  signal: AbortSignal,
): Promise<AutoAdvice | null> {
  const manifest = await lastCandidate(remoteBlobs(await context.genesis()), run);
  if (manifest === null) return null;
  const missing = await waitForPromotion(context.requireWorkspace().root, manifest, signal);
  if (missing.length === 0) return null;
  const names = joinFirst(missing, NAMES_MAX);
  return {
    says: `${run.task_id} has converged, but some of its files are missing or different in this folder: ${names}.`,
    next: 'gen status --health',
  };
}

const NAMES_MAX = 5;

function showPause(context: CommandContext, { says, next }: AutoAdvice): void {
  context.printReply({ status: 'PAUSED', says, next }, () => [
    ...context.wrap(says, 0),
    ...context.labelled('Next:', next, 6),
  ]);
  context.exit_code = EXIT.human;
}
