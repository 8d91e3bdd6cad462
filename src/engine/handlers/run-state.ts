import { z } from 'zod';
import { type CheckOutcome, checkOutcomeSchema } from '../../core/engine/check-outcome.js';
import type { EdgePlan } from '../../core/engine/edge-plan.js';
import type { BlobReference, RunData } from '../../core/engine/run-data.js';
import { parseManifest, type ResultManifest } from '../../core/methodology/definition/manifest.js';
import { engineError } from '../engine-error.js';
import type { RunBlobs } from '../run-blobs.js';
import type { ClaimOfRun } from './services.js';

/** A part of the data that earlier states must have set. */
export function requiredPart<Part extends keyof RunData>(
  data: RunData,
  part: Part,
): NonNullable<RunData[Part]> {
  const value = data[part];
  if (value === undefined || value === null)
    throw engineError(
      'failed',
      `The data of the run has no ${part}, which an earlier state should have set. Start a new run.`,
    );
  return value;
}

export const claimOf = (data: RunData): ClaimOfRun => requiredPart(data, 'claim');

export const readJson = async (blobs: RunBlobs, reference: BlobReference): Promise<unknown> =>
  JSON.parse(Buffer.from(await blobs.get(reference)).toString('utf8'));

export const putJson = (blobs: RunBlobs, value: unknown): Promise<BlobReference> =>
  blobs.put(Buffer.from(JSON.stringify(value)));

/** The edge plan of the run. Only the engine writes it, under its digest. */
export const edgePlanOf = async (blobs: RunBlobs, data: RunData): Promise<EdgePlan> =>
  (await readJson(blobs, requiredPart(data, 'config').plan)) as EdgePlan;

export async function manifestOf(blobs: RunBlobs, reference: BlobReference): Promise<ResultManifest> {
  const parsed = parseManifest(await readJson(blobs, reference));
  if (parsed.ok) return parsed.manifest;
  throw engineError(
    'failed',
    `The manifest of the candidate is not valid: ${parsed.path}: ${parsed.message}.`,
  );
}

/** The outcomes of programs and models on the candidate of this iteration. Large outcomes are read from their blobs. */
export async function outcomesOf(
  blobs: RunBlobs,
  { deterministic = [], agent = [] }: RunData,
): Promise<readonly CheckOutcome[]> {
  const wholeOutcome = async (sha256: string): Promise<CheckOutcome> =>
    checkOutcomeSchema.parse(await readJson(blobs, { bucket: '', key: sha256, version: sha256 }));
  return Promise.all(
    [...deterministic, ...agent].map(async ({ blocks: _, outcome_sha256, ...outcome }) =>
      outcome_sha256 === undefined ? outcome : wholeOutcome(outcome_sha256),
    ),
  );
}

/** What an iteration hands to the next one, and what people see of it. */
export const findingsSchema = z.object({
  iteration: z.int(),
  outcomes: z.array(checkOutcomeSchema),
  comment: z.string().nullable(),
  /** The failing checks of this and all earlier iterations, oldest first. */
  failing: z.array(z.array(z.string())),
});
export type Findings = z.output<typeof findingsSchema>;

/**
 * What the constructor has to improve: the findings of the last iteration. The first iteration of a retry has those of the
 * previous run.
 */
export async function findingsToFix(blobs: RunBlobs, data: RunData): Promise<Findings | null> {
  const { retried_findings } = data.run;
  const lastFindings = await findingsOf(blobs, data);
  if (lastFindings !== null || retried_findings === undefined) return lastFindings;
  return findingsSchema.parse(await readJson(blobs, retried_findings));
}

export async function findingsOf(blobs: RunBlobs, { verdict }: RunData): Promise<Findings | null> {
  if (verdict?.findings == null) return null;
  return findingsSchema.parse(await readJson(blobs, verdict.findings));
}
