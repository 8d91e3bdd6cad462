import { requestedChanges, runToRevise } from '../../core/engine/requested-changes.js';
import {
  type BlobReference,
  handlerResults,
  type RunInput,
  type StepHandlerName,
} from '../../core/engine/run-data.js';
import type { Run } from '../../core/engine/runs.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { findingsSchema, putJson, readJson } from '../handlers/run-state.js';
import type { RunBlobs } from '../run-blobs.js';

/**
 * The earlier run whose findings a run begins with: the one that its request names or, for a run that is not in the log
 * yet, the one on whose candidate a person requested changes. Null if there is none.
 */
export const retriedRunId = (
  run: Run | undefined,
  runs: readonly Run[],
  events: readonly EventEnvelope[],
): string | null => (run === undefined ? runToRevise(runs, events) : run.retry_of);

/** The run as each of its steps receives it: with the findings of the run that it retries. */
export async function withRetriedFindings(
  blobs: RunBlobs,
  runInput: RunInput,
  retryOf: string | null,
  runs: readonly Run[],
  events: readonly EventEnvelope[],
): Promise<RunInput> {
  const retried_findings = await retriedFindings(blobs, runs, retryOf, events);
  return retried_findings === undefined ? runInput : { ...runInput, retried_findings };
}

/**
 * The findings of the last judged iteration of a run, with the comment of a person who requested changes afterwards.
 * Undefined if no iteration was judged.
 */
async function retriedFindings(
  blobs: RunBlobs,
  runs: readonly Run[],
  retryOf: string | null,
  events: readonly EventEnvelope[],
): Promise<BlobReference | undefined> {
  const retriedRun = runs.find(({ run_id }) => run_id === retryOf);
  const judgeStep = retriedRun?.steps.findLast(
    ({ step, status }) => step === ('judge_iteration' satisfies StepHandlerName) && status === 'COMPLETED',
  );
  if (judgeStep === undefined) return undefined;
  const output =
    judgeStep.output_ref === null ? judgeStep.output : await readJson(blobs, judgeStep.output_ref);
  const reference = handlerResults.judge_iteration.parse(output).findings ?? undefined;
  const comment = retryOf === null ? null : requestedChanges(retryOf, events);
  if (reference === undefined || comment === null) return reference;
  const findings = findingsSchema.parse(await readJson(blobs, reference));
  return putJson(blobs, { ...findings, comment: comment || null });
}
