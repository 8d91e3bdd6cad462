import { z } from 'zod';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { canonicalJson } from '../../core/canonical-json.js';
import {
  handlerResults,
  type RunData,
  runDataSchema,
  type StepHandlerName,
} from '../../core/engine/run-data.js';
import { EngineError, engineError } from '../engine-error.js';
import { MachineStopped } from '../interpreter/run-machine.js';
import type { RunJournal, StepKey } from './run-journal.js';

/** What the handler of a step gets: the data of the run, for a check its name, and for a review the token of the step. */
const stepPayloadSchema = runDataSchema.extend({
  check: z.string().min(1).max(256).optional(),
  task_token: z.string().min(1).max(2048).optional(),
});

export interface StepCall {
  readonly data: RunData;
  readonly check: string | null;
  /** The token of a step that waits. The answer may be sent later, with this token. */
  readonly task_token: string | null;
  /** 0 for a step that is not recorded. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly journal: RunJournal;
  readonly key: StepKey;
}

/** One function per handler, the same in process and on AWS. Rejects with an `EngineError`. */
export type StepHandlers = {
  readonly [Name in StepHandlerName]: (call: StepCall) => Promise<z.output<(typeof handlerResults)[Name]>>;
};

const STEP_NAME_CHARS_MAX = 280;

/** Steps whose results are not recorded: a new executor must not reuse the results of an old one. */
const UNRECORDED_STEPS: ReadonlySet<StepHandlerName> = new Set(['claim_edge']);

/**
 * Runs a step at least once. A step that the journal has with the same input is not run again: its result or failure is
 * replayed, and the machine decides whether a failed step is retried. The handler of a waiting step stops the machine; it
 * is called again when the machine is run again.
 */
export async function runStep(
  handlers: StepHandlers,
  journal: RunJournal,
  name: StepHandlerName,
  payload: unknown,
  signal: AbortSignal,
  now: () => number,
): Promise<unknown> {
  const { check = null, task_token = null, ...data } = parsePayload(payload);
  const step = check === null ? name : `${name} ${check}`.slice(0, STEP_NAME_CHARS_MAX);
  const key: StepKey = { step, iteration: data.iteration, input_sha256: inputDigest(data, check) };
  const call = { data, check, task_token, signal, journal, key };
  if (UNRECORDED_STEPS.has(name)) return handlers[name]({ ...call, attempt: 0 });
  const recordedResult = await journal.resultOf(key);
  if (recordedResult !== undefined) return handlerResults[name].parse(recordedResult);
  const failure = journal.nextFailure(key);
  if (failure !== null) throw failure;
  const attempt = await journal.recordStart(key);
  const startMs = now();
  const result = await handlers[name]({ ...call, attempt }).catch(async (error) => {
    if (error instanceof MachineStopped) throw error;
    // The reason of the abort counts, not the error that the handler throws because of it.
    if (signal.aborted) throw signal.reason;
    const engineFailure = asEngineError(error);
    if (engineFailure.name !== 'Engine.ClaimLost')
      await journal.recordFailure(key, attempt, now() - startMs, engineFailure);
    throw engineFailure;
  });
  await journal.recordEnd(key, attempt, now() - startMs, result);
  return handlerResults[name].parse(await journal.resultOf(key));
}

/** The digest of the input without the claim: another executor has another claim, but the same work. */
function inputDigest({ claim: _, ...data }: RunData, check: string | null): string {
  return sha256Hex(canonicalJson({ data, check }));
}

export function parsePayload(payload: unknown) {
  const parsed = stepPayloadSchema.safeParse(payload);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw engineError(
    'failed',
    `The data of the run is not valid: ${issue?.path.join('.')}: ${issue?.message}.`,
  );
}

const CAUSE_CHARS_MAX = 2000;

/** Cuts the message to the length that the log keeps, so that a replayed failure is equal to the first. */
function asEngineError(error: unknown): EngineError {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, CAUSE_CHARS_MAX);
  if (!(error instanceof EngineError)) return engineError('failed', message);
  return error.message === message ? error : new EngineError(error.name, message, error.cost);
}
