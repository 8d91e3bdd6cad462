import type { Cost } from '../../core/engine/check-outcome.js';
import type { ENGINE_ERRORS } from '../../core/engine/run-data.js';
import { type EngineError, engineError } from '../engine-error.js';
import { stoppedError } from '../time-limit.js';

type ErrorKind = keyof typeof ENGINE_ERRORS;

/** The parts of the library's error that decide its kind. The library's type is not imported: the library is optional. */
interface FailedCall {
  readonly statusCode?: number | undefined;
  readonly responseHeaders?: Record<string, string> | undefined;
  readonly responseBody?: string | undefined;
}

interface FailureContext {
  readonly signal: AbortSignal;
  /** Removed from the message, except texts that are too short to be secret (`SECRET_CHARS_MIN`). */
  readonly secrets: readonly string[];
  readonly model: string;
  readonly cost: Cost;
}

/** The error of a question to a model, under the name that decides whether the question is repeated. */
export function modelErrorOf(error: unknown, context: FailureContext): EngineError {
  const { signal, model, cost } = context;
  if (signal.aborted) return stoppedError(signal, `the answer of the model ${model}`);
  const reason = withoutSecrets(error instanceof Error ? error.message : String(error), context.secrets);
  const kind = isFailedCall(error) ? kindOfCall(error) : kindOfFailure(error);
  return engineError(kind, `The model ${model} did not answer: ${reason}`, cost);
}

const isFailedCall = (error: unknown): error is FailedCall & Error =>
  error instanceof Error && error.name === 'AI_APICallError';

function kindOfCall(call: FailedCall & Error): ErrorKind {
  const { statusCode, responseHeaders, responseBody = '' } = call;
  if (statusCode === undefined) return kindOfFailure(call);
  // The server has answered, and the library could not read it.
  if (statusCode >= 200 && statusCode < 300) return 'malformed';
  if (isBudgetSpent(responseBody, responseHeaders)) return 'budgetSpent';
  const type = errorType(responseHeaders);
  if (statusCode === 429 || type === 'ThrottlingException') return 'throttled';
  if (statusCode === 503 || statusCode === 529 || type === 'ServiceUnavailableException') return 'overloaded';
  if (statusCode === 408) return 'timeout';
  return statusCode >= 500 ? 'unavailable' : 'failed';
}

/** Bedrock names the error in a header; a suffix after a colon is a link. */
const errorType = (headers: Record<string, string> | undefined): string | undefined =>
  headers?.['x-amzn-errortype']?.split(':')[0];

const SPENT_CODE =
  /"(?:code|type|error_code)"\s*:\s*"(?:insufficient_quota|billing_error|enforced_spend_limit_reached)"/;
/** For providers whose code is the same for every refused request. */
const SPENT_TEXT =
  /credit balance is too low|too many tokens per day|reached your specified (?:workspace )?api usage limits/i;

/** The account's quota or credit is used up, so waiting does not help. Some providers report this as throttling. */
const isBudgetSpent = (body: string, headers: Record<string, string> | undefined): boolean =>
  errorType(headers) === 'ServiceQuotaExceededException' || SPENT_CODE.test(body) || SPENT_TEXT.test(body);

/** The kind of an error without a status: the server was not reached, or its answer broke off or could not be read. */
function kindOfFailure(error: unknown): ErrorKind {
  const codes: string[] = [];
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    codes.push(cause.name, String((cause as NodeJS.ErrnoException).code ?? ''));
  }
  const hasCode = (pattern: RegExp): boolean => codes.some((code) => pattern.test(code));
  if (hasCode(/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$|^ETIMEDOUT$/)) return 'timeout';
  if (hasCode(/^RangeError$|JSONParse|TypeValidation|InvalidResponse|EmptyResponse|NoOutput/))
    return 'malformed';
  if (hasCode(/^E[A-Z]+$|^UND_ERR_|^AI_APICallError$|^SocketError$/)) return 'unavailable';
  return 'failed';
}

const REASON_CHARS_MAX = 500;
const SECRET_CHARS_MIN = 8;

/** Some servers repeat the key in their message. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  const longSecrets = secrets.filter((secret) => secret.length >= SECRET_CHARS_MIN);
  const cleaned = longSecrets.reduce(
    (cleanedSoFar, secret) => cleanedSoFar.replaceAll(secret, '[key]'),
    text,
  );
  return cleaned.slice(0, REASON_CHARS_MAX);
}
