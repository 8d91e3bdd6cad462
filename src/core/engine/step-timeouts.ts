import type { EffectiveCheck } from '../contract/checks.js';
import type { EdgePlan } from './edge-plan.js';
import type { StepHandlerName } from './run-data.js';

/** The timeout of a check whose definition sets none. */
const CHECK_TIMEOUT_SECONDS = 600;
/**
 * Default time limit of the state `construct_candidate`. A constructor's own default is shorter
 * (docs/engine.md).
 */
const CONSTRUCT_TIMEOUT_SECONDS = 3600;
const JUDGE_CHECK_TIMEOUT_SECONDS = 600;
const REVIEW_DEADLINE_DAYS = 14;

/** Added to the timeout of a program: its handler must stop it and clean up before the machine stops the handler. */
const GRACE_SECONDS = 10;
const SHORT_STEP_SECONDS = 20;
/** Steps that copy files. */
const FILES_STEP_SECONDS = 60;
/** The longest execution that Step Functions allows, and so the longest wait. */
const WAIT_SECONDS_MAX = 365 * 86_400;

/** How long a candidate may wait in the queue, because a runner checks one candidate after another. */
const QUEUE_SECONDS = 900;

const checkOwnSeconds = ({ timeout_seconds }: EffectiveCheck): number =>
  timeout_seconds ?? CHECK_TIMEOUT_SECONDS;

/** How long to wait for the evidence of a runner, which signs it when all deterministic checks have ended. */
export const evidenceWaitSeconds = ({ checks }: Pick<EdgePlan, 'checks'>): number =>
  checks
    .filter(({ type }) => type === 'deterministic')
    .reduce((seconds, check) => seconds + checkOwnSeconds(check), QUEUE_SECONDS);

/** Worst-case duration of one attempt of `run_check`. */
export const checkTimeoutSeconds = (
  check: EffectiveCheck,
  plan: Pick<EdgePlan, 'checks' | 'evidence'>,
): number =>
  (plan.evidence === 'verified' ? evidenceWaitSeconds(plan) : checkOwnSeconds(check)) + GRACE_SECONDS;

/** Worst-case duration of one attempt of a step other than `run_check`. */
export function stepTimeoutSeconds(handler: Exclude<StepHandlerName, 'run_check'>, plan: EdgePlan): number {
  const { construct, evaluate, settings } = plan;
  switch (handler) {
    case 'construct_candidate':
      return settingSeconds(construct, CONSTRUCT_TIMEOUT_SECONDS) + GRACE_SECONDS;
    case 'judge_check':
      return settingSeconds(evaluate, JUDGE_CHECK_TIMEOUT_SECONDS) + GRACE_SECONDS;
    case 'request_review': {
      const days = settings.review?.deadline_days ?? REVIEW_DEADLINE_DAYS;
      return Math.min(Math.max(1, Math.round(days * 86_400)), WAIT_SECONDS_MAX);
    }
    case 'load_context':
      return FILES_STEP_SECONDS;
    case 'promote':
      // If the base has moved, runners run the checks again first.
      return FILES_STEP_SECONDS + (plan.evidence === 'verified' ? evidenceWaitSeconds(plan) : 0);
    default:
      return SHORT_STEP_SECONDS;
  }
}

/** The timeout of a constructor or an evaluator. Short without settings, and for a transcript, which is only read. */
function settingSeconds(settings: EdgePlan['construct'] | EdgePlan['evaluate'], fallback: number): number {
  if (settings === null || settings.type === 'replay') return SHORT_STEP_SECONDS;
  return settings.timeout_seconds ?? fallback;
}
