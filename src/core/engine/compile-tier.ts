import type { EffectiveCheck } from '../contract/checks.js';
import type { ChoiceRule, MachineState, PayloadTemplate, StateMachine } from './asl.js';
import type { EdgePlan } from './edge-plan.js';
import { CATCH, CHECK_ERRORS, RETRY } from './error-handling.js';
import type { StepHandlerName } from './run-data.js';
import type { StateNames } from './state-names.js';
import { checkTimeoutSeconds, stepTimeoutSeconds } from './step-timeouts.js';

/** A tier whose checks run in parallel. Human checks are not compiled as a tier: a gate follows the tiers. */
export type Tier = 'deterministic' | 'agent';

interface TierParts {
  readonly plan: EdgePlan;
  readonly tier: Tier;
  readonly checks: readonly EffectiveCheck[];
  /** Fields of the run's data that exist when the tier begins. */
  readonly input: readonly string[];
  /** The state after a tier whose required checks have all passed. */
  readonly next: string;
  readonly names: StateNames;
  readonly functionArn: (handler: StepHandlerName) => string;
}

const TIERS = {
  deterministic: {
    handler: 'run_check',
    checks: 'DeterministicChecks',
    passed: 'DeterministicPassed?',
    task: 'Check',
    error: 'Check error',
  },
  agent: {
    handler: 'judge_check',
    checks: 'AgentChecks',
    passed: 'AgentPassed?',
    task: 'Judge',
    error: 'Judge error',
  },
} as const;

/**
 * The states of a tier: its checks in parallel, and the choice whether the next tier follows. A tier without required
 * checks has no choice: the next tier always follows.
 */
export function compileTier(parts: TierParts): Record<string, MachineState> {
  const { tier, checks, next } = parts;
  const states = TIERS[tier];
  const blocking = blockingRules(tier, checks);
  const parallel: MachineState = {
    Type: 'Parallel',
    Branches: checks.map((check) => compileBranch(check, parts)),
    ResultPath: `$.${tier}`,
    Catch: CATCH,
    Next: blocking === null ? next : states.passed,
  };
  if (blocking === null) return { [states.checks]: parallel };
  const choice: MachineState = {
    Type: 'Choice',
    Choices: [{ ...blocking, Next: 'JudgeIteration' }],
    Default: next,
  };
  return { [states.checks]: parallel, [states.passed]: choice };
}

/** A template that passes on the given fields of the run's data. All must exist: a path to a missing field is an error. */
export const dataTemplate = (fields: readonly string[]): PayloadTemplate =>
  Object.fromEntries(fields.map((field) => [`${field}.$`, `$.${field}`]));

/** A rule that is true if a required check of the tier blocks; null if no check of the tier is required. */
function blockingRules(tier: Tier, checks: readonly EffectiveCheck[]): ChoiceRule | null {
  const rules = checks.flatMap(({ required }, at) =>
    required ? [{ Variable: `$.${tier}[${at}].blocks`, BooleanEquals: true }] : [],
  );
  const [only, ...others] = rules;
  if (only === undefined) return null;
  return others.length === 0 ? only : { Or: rules };
}

function compileBranch(check: EffectiveCheck, parts: TierParts): StateMachine {
  const { plan, tier, input, names, functionArn } = parts;
  const { handler, task, error } = TIERS[tier];
  const taskName = names.uniqueName(task, check.name);
  const errorName = names.uniqueName(error, check.name);
  return {
    StartAt: taskName,
    States: {
      [taskName]: {
        Type: 'Task',
        Resource: functionArn(handler),
        Parameters: { ...dataTemplate(input), check: check.name },
        TimeoutSeconds:
          handler === 'run_check' ? checkTimeoutSeconds(check, plan) : stepTimeoutSeconds(handler, plan),
        Retry: RETRY,
        Catch: [{ ErrorEquals: CHECK_ERRORS, ResultPath: '$.failure', Next: errorName }],
        End: true,
      },
      [errorName]: { Type: 'Pass', Parameters: errorOutcome(check), End: true },
    },
  };
}

/**
 * The outcome of a check whose task failed, for example by a timeout. A template cannot join texts, so `says` is only the
 * name of the error.
 */
const errorOutcome = ({ name, type, required }: EffectiveCheck): PayloadTemplate => ({
  name,
  type,
  required,
  result: 'error',
  'says.$': '$.failure.Error',
  command_sha256: null,
  exit_code: null,
  signal: null,
  duration_ms: 0,
  report: null,
  output_sha256: null,
  blocks: required,
});
