import type { Catcher, Retrier } from './asl.js';
import { ENGINE_ERRORS } from './run-data.js';

const { throttled, overloaded, unavailable, claimLost, budgetSpent, malformed, timeout, failed } =
  ENGINE_ERRORS;

/** Errors of Lambda itself: the function was not called, or its result was not returned. */
const LAMBDA_TRANSIENT_ERRORS = [
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.TooManyRequestsException',
];
/** Errors of a function that ended without a result, for example because it ran out of memory or time. */
const LAMBDA_CRASHES = ['Lambda.Unknown', 'Runtime.ExitError', 'Runtime.OutOfMemory', 'Sandbox.Timedout'];

/** Retries of every step, if a service that it needs is busy or unavailable. Jitter spreads runs that started at once. */
export const RETRY: readonly Retrier[] = [
  {
    ErrorEquals: [throttled, overloaded],
    IntervalSeconds: 5,
    MaxAttempts: 6,
    BackoffRate: 2,
    MaxDelaySeconds: 120,
    JitterStrategy: 'FULL',
  },
  {
    ErrorEquals: [unavailable, ...LAMBDA_TRANSIENT_ERRORS],
    IntervalSeconds: 1,
    MaxAttempts: 5,
    BackoffRate: 2,
    MaxDelaySeconds: 30,
    JitterStrategy: 'FULL',
  },
];

export const claimLostCatcher: Catcher = { ErrorEquals: [claimLost], Next: 'ClaimLost' };

/**
 * Catchers of most steps. A lost claim ends this execution, and leaves the run to the executor that has the claim. All
 * other errors escalate to a person.
 */
export const CATCH: readonly Catcher[] = [
  claimLostCatcher,
  { ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'Escalate' },
];

/**
 * Errors of one check, which become its outcome: the other checks continue. All other errors end the tier, such as a lost
 * claim, a changed configuration, or missing evidence.
 */
export const CHECK_ERRORS: readonly string[] = [
  ...[timeout, failed, malformed, budgetSpent, throttled, overloaded, unavailable],
  'States.Timeout',
  ...LAMBDA_TRANSIENT_ERRORS,
  ...LAMBDA_CRASHES,
];
