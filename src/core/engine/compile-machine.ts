import type { EffectiveCheck } from '../contract/checks.js';
import type { MachineState, PayloadTemplate, StateMachine } from './asl.js';
import { compileTier, dataTemplate, type Tier } from './compile-tier.js';
import type { EdgePlan } from './edge-plan.js';
import { CATCH, claimLostCatcher, RETRY } from './error-handling.js';
import { ENGINE_ERRORS, type StepHandlerName } from './run-data.js';
import { CHECKS_PER_EDGE_MAX } from './short-outcome.js';
import { StateNames } from './state-names.js';
import { stepTimeoutSeconds } from './step-timeouts.js';
import { chooseWorkflowType, EXPRESS_SECONDS_MAX, type WorkflowType } from './workflow-type.js';

/** The names of states that do not depend on checks. */
const STATE_NAMES = [
  'ClaimEdge',
  'LoadConfig',
  'LoadContext',
  'ConstructCandidate',
  'DeterministicChecks',
  'DeterministicPassed?',
  'AgentChecks',
  'AgentPassed?',
  'HumanGate',
  'NoAnswer',
  'JudgeIteration',
  'ConvergenceCheck',
  'NextIteration',
  'Promote',
  'Escalate',
  'Converged',
  'Escalated',
  'ClaimLost',
] as const;
type StateName = (typeof STATE_NAMES)[number];

export interface CompiledMachine {
  readonly workflow_type: WorkflowType;
  /** Why the workflow has this type, as a sentence. */
  readonly reason: string;
  readonly machine: StateMachine;
}

export interface CompileOptions {
  /** The ARN of the function of a handler. Default: `genesis-<handler>` in a placeholder account. */
  readonly functionArn?: (handler: StepHandlerName) => string;
}

export const functionName = (handler: StepHandlerName): string => `genesis-${handler}`;
const placeholderArn = (handler: StepHandlerName): string =>
  `arn:aws:lambda:us-east-1:000000000000:function:${functionName(handler)}`;

/** Why the edge cannot have a machine; null if it can. */
export const planFault = ({ edge, checks }: EdgePlan): string | null =>
  checks.length <= CHECKS_PER_EDGE_MAX
    ? null
    : `${edge} has ${checks.length} checks; at most ${CHECKS_PER_EDGE_MAX} are possible. Combine some of them.`;

/** Compiles the state machine of an edge. The same plan gives the same document, byte for byte. */
export function compileMachine(plan: EdgePlan, options: CompileOptions = {}): CompiledMachine {
  const fault = planFault(plan);
  if (fault !== null) throw new RangeError(fault);
  const { workflow_type, reason } = chooseWorkflowType(plan);
  const machine: StateMachine = {
    Comment: `Iterates the edge ${plan.edge} until its checks pass`,
    StartAt: 'ClaimEdge',
    ...(workflow_type === 'EXPRESS' ? { TimeoutSeconds: EXPRESS_SECONDS_MAX } : {}),
    States: new MachineCompiler(plan, options.functionArn ?? placeholderArn).states(),
  };
  return { workflow_type, reason, machine };
}

class MachineCompiler {
  readonly #names = new StateNames(STATE_NAMES);

  constructor(
    private readonly plan: EdgePlan,
    private readonly functionArn: (handler: StepHandlerName) => string,
  ) {}

  states(): Record<string, MachineState> {
    const evaluation = this.#evaluation();
    const states: Partial<Record<StateName, MachineState>> = {
      ClaimEdge: this.#task('claim_edge', '$.claim', 'LoadConfig'),
      LoadConfig: this.#task('load_config', '$.config', 'LoadContext'),
      LoadContext: this.#task('load_context', '$.context', 'ConstructCandidate'),
      ConstructCandidate: this.#task('construct_candidate', '$.candidate', evaluation.start),
      ...evaluation.states,
      JudgeIteration: this.#task('judge_iteration', '$.verdict', 'ConvergenceCheck'),
      ...this.#convergence(),
    };
    return states as Record<string, MachineState>;
  }

  /**
   * The tiers that the plan has, in the order programs, models, people (only if a human check is required). A tier leads
   * to the next one if its required checks have passed. `JudgeIteration` follows otherwise, and after the last tier.
   */
  #evaluation(): { start: string; states: Partial<Record<StateName, MachineState>> } {
    const isHumanRequired = this.plan.checks.some(({ type, required }) => type === 'human' && required);
    const afterAgent = isHumanRequired ? 'HumanGate' : 'JudgeIteration';
    const agentChecks = this.#checksOf('agent');
    const afterDeterministic = agentChecks.length > 0 ? 'AgentChecks' : afterAgent;
    const deterministicChecks = this.#checksOf('deterministic');
    const fieldsBefore = ['run', 'iteration', 'claim', 'config', 'context', 'candidate'];
    const hasDeterministic = deterministicChecks.length > 0;
    const beforeAgent = hasDeterministic ? [...fieldsBefore, 'deterministic'] : fieldsBefore;
    const beforeGate = agentChecks.length > 0 ? [...beforeAgent, 'agent'] : beforeAgent;
    const states = {
      ...this.#tier('deterministic', deterministicChecks, fieldsBefore, afterDeterministic),
      ...this.#tier('agent', agentChecks, beforeAgent, afterAgent),
      ...(isHumanRequired ? this.#humanGate(beforeGate) : {}),
    };
    return { start: hasDeterministic ? 'DeterministicChecks' : afterDeterministic, states };
  }

  #checksOf(tier: EffectiveCheck['type']): readonly EffectiveCheck[] {
    return this.plan.checks.filter(({ type }) => type === tier);
  }

  #tier(tier: Tier, checks: readonly EffectiveCheck[], input: readonly string[], next: string) {
    if (checks.length === 0) return {};
    const { plan, functionArn } = this;
    return compileTier({ plan, tier, checks, input, next, names: this.#names, functionArn });
  }

  /**
   * The states of a review. `HumanGate` waits for the decision, which is sent with the token of its task; its timeout is
   * the deadline, after which `NoAnswer` takes the place of a decision.
   */
  #humanGate(input: readonly string[]) {
    const Payload = { ...dataTemplate(input), 'task_token.$': '$$.Task.Token' };
    return {
      HumanGate: {
        Type: 'Task',
        Comment: 'Waits for a review of the candidate',
        Resource: 'arn:aws:states:::lambda:invoke.waitForTaskToken',
        Parameters: { FunctionName: this.functionArn('request_review'), Payload },
        ResultPath: '$.human',
        TimeoutSeconds: stepTimeoutSeconds('request_review', this.plan),
        Retry: RETRY,
        Catch: [{ ErrorEquals: ['States.Timeout'], ResultPath: null, Next: 'NoAnswer' }, ...CATCH],
        Next: 'JudgeIteration',
      },
      NoAnswer: {
        Type: 'Pass',
        Result: { decision: 'NO_ANSWER', reviewer: '', comment: '' },
        ResultPath: '$.human',
        Next: 'JudgeIteration',
      },
    } as const satisfies Partial<Record<StateName, MachineState>>;
  }

  #convergence(): Partial<Record<StateName, MachineState>> {
    const { max_iterations } = this.plan;
    const isLoop = { Variable: '$.verdict.outcome', StringEquals: 'LOOP' };
    // The handler `judge_iteration` applies this limit too. Here it bounds the machine even if every outcome is `LOOP`.
    const isOverLimit = { Variable: '$.verdict.next_iteration', NumericGreaterThan: max_iterations };
    return {
      ConvergenceCheck: {
        Type: 'Choice',
        Choices: [
          { Variable: '$.verdict.outcome', StringEquals: 'CONVERGED', Next: 'Promote' },
          { And: [isLoop, { Not: isOverLimit }], Next: 'NextIteration' },
        ],
        Default: 'Escalate',
      },
      NextIteration: { Type: 'Pass', Parameters: NEXT_ITERATION_INPUT, Next: 'ConstructCandidate' },
      Promote: this.#task('promote', null, 'Converged'),
      Escalate: { ...this.#task('escalate', null, 'Escalated'), Catch: [claimLostCatcher] },
      Converged: { Type: 'Succeed' },
      Escalated: { Type: 'Succeed' },
      ClaimLost: {
        Type: 'Fail',
        Error: ENGINE_ERRORS.claimLost,
        Cause: 'Another executor has the edge, or the claim of this run has expired.',
      },
    };
  }

  #task(handler: Exclude<StepHandlerName, 'run_check'>, ResultPath: string | null, Next: string) {
    return {
      Type: 'Task',
      Resource: this.functionArn(handler),
      ResultPath,
      TimeoutSeconds: stepTimeoutSeconds(handler, this.plan),
      Retry: RETRY,
      Catch: CATCH,
      Next,
    } as const satisfies MachineState;
  }
}

/**
 * The data that an iteration passes on to the next one. Outcomes and decisions about the old candidate are left out:
 * otherwise a tier that the next iteration does not reach would be judged by them.
 */
const NEXT_ITERATION_INPUT: PayloadTemplate = {
  'run.$': '$.run',
  'iteration.$': '$.verdict.next_iteration',
  'claim.$': '$.claim',
  'config.$': '$.config',
  'context.$': '$.context',
  'candidate.$': '$.candidate',
  'verdict.$': '$.verdict',
};
