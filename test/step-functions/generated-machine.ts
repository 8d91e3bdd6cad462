import fc from 'fast-check';
import type {
  AslPassState,
  Catcher,
  ChoiceRule,
  MachineState,
  PayloadTemplate,
  Retrier,
  StateMachine,
} from '../../src/core/engine/asl.js';
import { WAIT_FOR_TOKEN } from '../../src/engine/interpreter/run-machine.js';
import { functionArn, machineOf, task } from '../../src/engine/interpreter/testing.js';
import type { FunctionAnswer } from '../support/step-functions/function-server.js';
import type { FunctionScript } from './scripted-functions.js';

/**
 * Machines in the shapes that the compiler of edges emits: stages that put their results into the data, a verdict that
 * may start another iteration, and an escalation that catches errors. Left out are shapes in which the stand-in differs
 * from the specification:
 * - a choice whose variable has no value: it must fail, the stand-in takes the rule for false;
 * - a choice that nothing matches, a template path without a value, a result path that does not fit: the stand-in
 *   fails too, with other error names, and lets `States.ALL` catch `States.Runtime`;
 * - an output that is a string or null: the stand-in does not return it as JSON.
 */
export interface GeneratedMachine {
  readonly machine: StateMachine;
  readonly input: unknown;
  readonly functions: Readonly<Record<string, FunctionScript>>;
}

/** A part of the machine. Each state leads to the next stage, or to Escalate or ClaimLost. */
interface Stage {
  readonly states: Readonly<Record<string, MachineState>>;
  readonly functions: Readonly<Record<string, FunctionScript>>;
}
/** Names its states and functions after its number, which is unique in its document. */
type StageOf = (number: number, Next: string) => Stage;

const errorName = fc.constantFrom(
  'Engine.Throttled',
  'Engine.Unavailable',
  'Engine.Failed',
  'Engine.ClaimLost',
);
const failure = (error: string): FunctionAnswer => ({ error, cause: `It is ${error}.` });
const success = fc
  .record({ blocks: fc.boolean(), value: fc.oneof(fc.integer(), fc.string(), fc.constant(null)) })
  .map((result): FunctionAnswer => ({ result }));

/** Succeeds at once, fails once or twice before, or always fails. */
const answers: fc.Arbitrary<FunctionScript['answers']> = fc.oneof(
  success.map((first): FunctionScript['answers'] => [first]),
  fc
    .tuple(errorName, fc.option(errorName), success)
    .map(([first, second, last]): FunctionScript['answers'] =>
      second === null ? [failure(first), last] : [failure(first), failure(second), last],
    ),
  errorName.map((error): FunctionScript['answers'] => [failure(error)]),
);

const retriers: fc.Arbitrary<readonly Retrier[]> = fc
  .record({
    named: fc.option(
      fc.record({
        ErrorEquals: fc.constantFrom(['Engine.Throttled'], ['Engine.Throttled', 'Engine.Unavailable']),
        MaxAttempts: fc.integer({ min: 0, max: 3 }),
        IntervalSeconds: fc.constant(1),
        BackoffRate: fc.constantFrom(1, 1.5, 2),
        MaxDelaySeconds: fc.constant(2),
        JitterStrategy: fc.constantFrom('FULL', 'NONE'),
      }),
    ),
    others: fc.option(
      fc.record({
        ErrorEquals: fc.constantFrom(['States.ALL'], ['States.TaskFailed'], ['Engine.Failed']),
        MaxAttempts: fc.integer({ min: 0, max: 2 }),
      }),
    ),
  })
  .map(({ named, others }) => [named, others].filter((each) => each !== null));

const catchers: fc.Arbitrary<readonly Catcher[]> = fc
  .record({
    lost: fc.boolean(),
    others: fc.option(
      fc.record({
        ErrorEquals: fc.constantFrom(
          ['States.ALL'],
          ['States.TaskFailed'],
          ['Engine.Failed', 'Engine.Unavailable'],
        ),
        ResultPath: fc.constantFrom('$.failure', '$', '$.run.failure', null),
        Next: fc.constant('Escalate'),
      }),
      { freq: 4 },
    ),
  })
  .map(({ lost, others }) => [
    ...(lost ? [{ ErrorEquals: ['Engine.ClaimLost'], ResultPath: '$.failure', Next: 'ClaimLost' }] : []),
    ...(others === null ? [] : [others]),
  ]);

const dataFlow = fc.record(
  {
    InputPath: fc.constantFrom('$', '$.run', '$$.Execution.Input', null),
    Parameters: fc.constantFrom<PayloadTemplate>(
      { 'data.$': '$', check: 'tests_pass' },
      { 'state.$': '$$.State.Name', nested: { list: [{ 'input.$': '$$.Execution.Input.run' }] } },
    ),
    ResultSelector: fc.constantFrom({ 'blocks.$': '$.blocks' }, { all: { 'result.$': '$' }, blocks: true }),
  },
  { requiredKeys: [] },
);

const taskStage: fc.Arbitrary<StageOf> = fc
  .record({
    answers,
    dataFlow,
    Retry: retriers,
    Catch: catchers,
    isNested: fc.boolean(),
    isDiscarded: fc.boolean(),
  })
  .map(({ answers, dataFlow, Retry, Catch, isNested, isDiscarded }) => (number, Next) => ({
    states: {
      [`Task ${number}`]: task(`task-${number}`, {
        ...dataFlow,
        Retry,
        Catch,
        ResultPath:
          isDiscarded && isNested ? null : isNested ? `$.results.task${number}` : `$.stage${number}`,
        Next,
      }),
    },
    functions: { [`task-${number}`]: { answers } },
  }));

/** Each branch turns its errors into an outcome, so that none stops the others. */
const checksStage: fc.Arbitrary<StageOf> = fc
  .array(fc.record({ answers, Retry: retriers }), { minLength: 1, maxLength: 3 })
  .map((checks) => (number, Next) => ({
    states: {
      [`Checks ${number}`]: {
        Type: 'Parallel',
        Branches: checks.map(({ Retry }, index) => checkBranch(`${number}-${index}`, Retry)),
        ResultPath: `$.stage${number}`,
        Next,
      },
    },
    functions: Object.fromEntries(
      checks.map(({ answers }, index) => [`check-${number}-${index}`, { answers }]),
    ),
  }));

const checkBranch = (check: string, Retry: readonly Retrier[]): StateMachine =>
  machineOf({
    [`Check: ${check}`]: task(`check-${check}`, {
      Parameters: { 'data.$': '$', check },
      Retry,
      Catch: [{ ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: `Error: ${check}` }],
    }),
    [`Error: ${check}`]: {
      Type: 'Pass',
      Parameters: { 'error.$': '$.failure.Error', blocks: true },
      End: true,
    },
  });

/** One branch fails after all were called: otherwise the number of calls would depend on the speed of the others. */
const failingBranchStage: fc.Arbitrary<StageOf> = fc
  .record({
    answers,
    others: fc.array(success, { minLength: 1, maxLength: 2 }),
    failingIndex: fc.nat(2),
    Retry: retriers,
    Catch: catchers,
    ResultPath: fc.boolean(),
  })
  .map(({ answers, others, failingIndex, Retry, Catch, ResultPath }) => (number, Next) => {
    const names = others.map((_, index) => `other-${number}-${index}`);
    const branches = names.map((name) => machineOf({ [name]: task(name) }));
    const failing = machineOf({ [`Failing ${number}`]: task(`failing-${number}`) });
    return {
      states: {
        [`Branches ${number}`]: {
          Type: 'Parallel',
          Branches: branches.toSpliced(failingIndex, 0, failing),
          Retry,
          Catch,
          ResultPath: ResultPath ? `$.stage${number}` : null,
          Next,
        },
      },
      functions: {
        ...Object.fromEntries(others.map((answer, index) => [names[index], { answers: [answer] }])),
        [`failing-${number}`]: { answers, after: names },
      },
    };
  });

const passStage: fc.Arbitrary<StageOf> = fc
  .constantFrom<Partial<AslPassState>>(
    { InputPath: '$.run.edge', ResultPath: '$.edge' },
    { InputPath: '$$.Execution.Input.run', ResultPath: '$.results.run' },
    {
      InputPath: '$.run',
      Parameters: { 'of.$': '$.edge', fixed: [1, { 'x.$': '$' }] },
      ResultPath: '$.passed',
    },
    { Result: { 'not a path.$': '$.run' }, ResultPath: '$.fixed' },
    { Result: [], ResultPath: null },
    {},
  )
  .map((fields) => (number, Next) => ({
    states: { [`Pass ${number}`]: { Type: 'Pass', ...fields, Next } as AslPassState },
    functions: {},
  }));

/** Reads the results of a stage before it, if there are any. */
const choiceStage: fc.Arbitrary<StageOf> = fc
  .record({ back: fc.integer({ min: 1, max: 2 }), isNegated: fc.boolean(), isElse: fc.boolean() })
  .map(({ back, isNegated, isElse }) => (number, Next) => {
    const blocks = (Variable: string): ChoiceRule => ({
      And: [
        { Variable, IsPresent: true },
        { Variable, BooleanEquals: true },
      ],
    });
    const stage = `$.stage${number - back}`;
    const rule: ChoiceRule = {
      Or: [blocks(`${stage}.blocks`), blocks(`${stage}[0].blocks`), blocks(`${stage}[1].blocks`)],
    };
    const [first, last] = isElse ? [Next, 'Escalate'] : ['Escalate', Next];
    return {
      states: {
        [`Choice ${number}`]: {
          Type: 'Choice',
          Choices: [{ ...(isNegated ? { Not: rule } : rule), Next: first }],
          Default: last,
        },
      },
      functions: {},
    };
  });

/** A stage that waits until somebody answers with the token. */
const reviewStage: fc.Arbitrary<StageOf> = fc
  .record({ answers, Retry: retriers, Catch: catchers })
  .map(({ answers, Retry, Catch }) => (number, Next) => ({
    states: {
      [`Review ${number}`]: task('', {
        Resource: WAIT_FOR_TOKEN,
        Parameters: {
          FunctionName: functionArn(`review-${number}`),
          Payload: { 'data.$': '$', 'token.$': '$$.Task.Token' },
        },
        TimeoutSeconds: 3600,
        Retry,
        Catch,
        ResultPath: `$.stage${number}`,
        Next,
      }),
    },
    functions: { [`review-${number}`]: { answers } },
  }));

/** The states after the stages: the verdict, another iteration or not, and the ends of the machine. */
const ending = (first: string, loops: number, outcome: string): Stage => {
  const verdict = (outcome: string, next_iteration: number): FunctionAnswer => ({
    result: { outcome, next_iteration, blocks: false },
  });
  const answers: [FunctionAnswer, ...FunctionAnswer[]] = [verdict(outcome, 1)];
  for (let next = loops + 1; next > 1; next -= 1) answers.unshift(verdict('LOOP', next));
  return {
    states: {
      Verdict: task('verdict', { ResultPath: '$.verdict', Next: 'ConvergenceCheck' }),
      ConvergenceCheck: {
        Type: 'Choice',
        Choices: [
          { Variable: '$.verdict.outcome', StringEquals: 'CONVERGED', Next: 'Converged' },
          { Variable: '$.verdict.next_iteration', NumericGreaterThan: 1, Next: 'NextIteration' },
        ],
        Default: 'Escalate',
      },
      NextIteration: {
        Type: 'Pass',
        InputPath: '$.verdict.next_iteration',
        ResultPath: '$.iteration',
        Next: first,
      },
      Escalate: task('escalate', { ResultPath: '$.escalation', Next: 'Escalated' }),
      Converged: { Type: 'Succeed', OutputPath: '$' },
      Escalated: { Type: 'Succeed' },
      ClaimLost: { Type: 'Fail', Error: 'ClaimLost', Cause: 'Another executor has the edge.' },
    },
    functions: {
      verdict: { answers },
      escalate: { answers: [{ result: { reason: 'STEP_FAILED' } }] },
    },
  };
};

export const generatedMachine: fc.Arbitrary<GeneratedMachine> = fc
  .record({
    stages: fc.array(
      fc.oneof(
        { arbitrary: taskStage, weight: 3 },
        { arbitrary: checksStage, weight: 2 },
        { arbitrary: choiceStage, weight: 2 },
        failingBranchStage,
        passStage,
        reviewStage,
      ),
      { minLength: 2, maxLength: 6 },
    ),
    loops: fc.nat(2),
    outcome: fc.constantFrom('ESCALATE', 'CONVERGED'),
  })
  .map(({ stages, loops, outcome }) => {
    // From the last to the first, because each stage is built with the name of the state that follows.
    const built: Stage[] = [];
    let next = 'Verdict';
    for (const [index, stage] of [...stages.entries()].reverse()) {
      built.unshift(stage(index, next));
      next = Object.keys((built[0] as Stage).states)[0] as string;
    }
    built.push(ending(next, loops, outcome));
    return {
      machine: { StartAt: next, States: Object.assign({}, ...built.map(({ states }) => states)) },
      input: { run: { edge: 'design_code', tags: ['a', 'b'] }, iteration: 1 },
      functions: Object.assign({}, ...built.map(({ functions }) => functions)),
    };
  });
