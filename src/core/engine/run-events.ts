import { z } from 'zod';
import { RUN_STATUSES } from '../contract/values.js';
import { costSchema } from './check-outcome.js';
import { blobReference } from './run-data.js';
import { SAYS_CHARS_MAX } from './says.js';

/**
 * Events of a run. They change no head. The events of steps are accepted from the last holder of the edge's claim, with its
 * handle, so that a late step of an old executor is refused; after the decision on the candidate, any executor may record how
 * the run ends. The ids of an executor's events derive from what they record (run, step, iteration, attempt), so that nothing
 * is recorded twice.
 */

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const saysText = z.string().max(SAYS_CHARS_MAX);
/** Maximum size of a result within an event. Larger results are stored as blobs. */
export const INLINE_OUTPUT_BYTES_MAX = 8 * 1024;

const stepFields = {
  run_id: z.uuid(),
  /** The name of the handler; for a check followed by the name of the check. */
  step: z.string().min(1).max(280),
  iteration: z.int().min(1),
  input_sha256: sha256,
};

export const runEventSchemas = {
  /** A run was requested. The next executor of the edge executes it under this id. */
  run_requested: z.strictObject({ run_id: z.uuid(), retry_of: z.uuid().nullable() }),
  run_started: z.strictObject({
    run_id: z.uuid(),
    /** The run whose findings the first iteration reads. */
    retry_of: z.uuid().nullable().exactOptional(),
    workflow_type: z.enum(['STANDARD', 'EXPRESS']),
    /** The compiled machine, as a blob, and its digest. */
    machine: blobReference,
    machine_sha256: sha256,
    config_sha256: sha256,
  }),
  run_step_started: z.strictObject({ ...stepFields, attempt: z.int().min(1) }),
  run_step_completed: z.strictObject({
    ...stepFields,
    attempt: z.int().min(1),
    duration_ms: z.int().min(0),
    /** Either `output` or `output_ref` is present. */
    output: z.record(z.string(), z.unknown()).exactOptional(),
    output_ref: blobReference.exactOptional(),
    cost: costSchema.exactOptional(),
  }),
  run_step_failed: z.strictObject({
    ...stepFields,
    attempt: z.int().min(1),
    duration_ms: z.int().min(0),
    error: z.string().max(100),
    cause: saysText,
    cost: costSchema.exactOptional(),
  }),
  /** The run waits for a person. No process waits meanwhile. */
  run_suspended: z.strictObject({
    ...stepFields,
    attempt: z.int().min(1).exactOptional(),
    deadline_at: z.string(),
    /** The input of the waiting task. The reply is built from this input and the decision, and sent with the token in it. */
    task: blobReference.exactOptional(),
  }),
  run_ended: z.strictObject({
    run_id: z.uuid(),
    status: z.enum(RUN_STATUSES),
    reason: z.string().max(100).nullable(),
    says: saysText,
    iterations: z.int().min(0),
    spent: costSchema,
  }),
} as const;
export type RunEventType = keyof typeof runEventSchemas;
export type RunEventPayload<Type extends RunEventType> = z.output<(typeof runEventSchemas)[Type]>;

const CONCLUDING_STEPS: ReadonlySet<unknown> = new Set([
  'request_review',
  'judge_iteration',
  'promote',
  'escalate',
]);

interface ReportedEvent {
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Whether an event begins a run or its wait for a person. Neither may begin once the candidate is decided. */
export const isRunOrWaitStart = ({ event_type }: Pick<ReportedEvent, 'event_type'>): boolean =>
  event_type === 'run_started' || event_type === 'run_suspended';

/**
 * Whether an event may be recorded after the decision on the candidate, because it then only records how the run ends: the
 * end itself, or the event of a last step that has no cost.
 */
export const isRunConclusion = (event: ReportedEvent): boolean =>
  event.event_type === 'run_ended' ||
  (!isRunOrWaitStart(event) && CONCLUDING_STEPS.has(event.payload.step) && event.payload.cost === undefined);

/** Whether an event ends a run by cancellation, which needs the right to operate. */
export const isCancellation = (event: ReportedEvent): boolean =>
  event.event_type === 'run_ended' && event.payload.status === 'CANCELLED';
