import { requestedChanges } from '../../core/engine/requested-changes.js';
import { type BlobReference, handlerResults, type StepHandlerName } from '../../core/engine/run-data.js';
import type { Run } from '../../core/engine/runs.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { findingsSchema, putJson, readJson } from '../handlers/run-state.js';
import type { RunBlobs } from '../run-blobs.js';

/**
 * What the last iteration of a run found, with the comment of a person who requested changes after it; undefined if it
 * judged none.
 */
export async function retriedFindings(
  blobs: RunBlobs,
  runs: readonly Run[],
  retryOf: string | null,
  events: readonly EventEnvelope[],
): Promise<BlobReference | undefined> {
  const retried = runs.find(({ run_id }) => run_id === retryOf);
  const judged = retried?.steps.findLast(
    ({ step, status }) => step === ('judge_iteration' satisfies StepHandlerName) && status === 'COMPLETED',
  );
  if (judged === undefined) return undefined;
  const output = judged.output_ref === null ? judged.output : await readJson(blobs, judged.output_ref);
  const reference = handlerResults.judge_iteration.parse(output).findings ?? undefined;
  const comment = retryOf === null ? null : requestedChanges(retryOf, events);
  if (reference === undefined || !comment) return reference;
  const findings = findingsSchema.parse(await readJson(blobs, reference));
  return putJson(blobs, { ...findings, comment });
}
