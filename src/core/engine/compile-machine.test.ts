import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildFeature, methodologyOf } from '../methodology/testing.js';
import type { StateMachine } from './asl.js';
import { type CompiledMachine, compileMachine } from './compile-machine.js';
import { type EdgePlan, edgePlan } from './edge-plan.js';
import { machineMermaid } from './machine-mermaid.js';
import { ENGINE_ERRORS } from './run-data.js';
import {
  buildCheck,
  buildEdgePlan,
  machinesIn,
  SPECIFICATION_EDGE_FILE,
  statesIn,
  targetsOf,
} from './testing.js';

interface AslOptions {
  readonly checkPaths: boolean;
  readonly checkArn: boolean;
}
/** The validator of the package `asl-validator`, which has no types. It modifies the document that it validates. */
const validateAsl = createRequire(import.meta.url)('asl-validator') as (
  definition: unknown,
  options: AslOptions,
) => { readonly errors: readonly object[] };

const aslErrors = (machine: StateMachine): readonly object[] =>
  validateAsl(structuredClone(machine), { checkPaths: true, checkArn: true }).errors;

/**
 * The errors of several machines, validated as branches of a single one: each call of the validator prepares its schemas
 * again, which takes longer than the validation. Duplicate names are no error here, because only the names within each
 * machine are unique; `expectSound` checks those.
 */
function aslErrorsOfAll(machines: readonly StateMachine[]): readonly object[] {
  const Branches = machines.map(({ StartAt, States }) => ({ StartAt, States }));
  const all: StateMachine = { StartAt: 'All', States: { All: { Type: 'Parallel', Branches, End: true } } };
  const isDuplicate = (error: object) => Object.values(error).includes('DUPLICATE_STATE_NAMES');
  return aslErrors(all).filter((error) => !isDuplicate(error));
}

const BUILT_IN = methodologyOf();
const EDGES = BUILT_IN.topology.transitions.map(({ edge }) => edge);
const builtInPlan = (edge: string, profile: string): EdgePlan =>
  edgePlan(BUILT_IN, buildFeature({ profile }), edge);
const SPECIFICATION_PLAN = edgePlan(
  methodologyOf({ 'config/edge_params/requirements_design.yml': SPECIFICATION_EDGE_FILE }),
  buildFeature({ profile: 'full' }),
  'requirements_design',
);

function expectSound({ machine }: { machine: StateMachine }, plan: EdgePlan): void {
  const names = statesIn(machine).map(([name]) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) {
    expect(name.length).toBeLessThanOrEqual(80);
    expect(name).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  }
  for (const part of machinesIn(machine)) {
    expect(reachableStates(part)).toEqual(new Set(Object.keys(part.States)));
    expect(findCycle(part)).toBeNull();
  }
  const isHumanRequired = plan.checks.some(({ type, required }) => type === 'human' && required);
  expect('HumanGate' in machine.States).toBe(isHumanRequired);
}

function reachableStates({ StartAt, States }: StateMachine): Set<string> {
  const reached = new Set([StartAt]);
  for (const name of reached) {
    const state = States[name];
    for (const target of state === undefined ? [] : targetsOf(state)) reached.add(target);
  }
  return reached;
}

/** A cycle of states that avoids `NextIteration`, which `ConvergenceCheck` enters a limited number of times. Null if none. */
function findCycle({ States }: StateMachine): string | null {
  const visited = new Set<string>();
  const visit = (name: string, path: readonly string[]): string | null => {
    if (path.includes(name)) return [...path, name].join(' → ');
    const state = States[name];
    if (state === undefined || visited.has(name) || name === 'NextIteration') return null;
    for (const target of targetsOf(state)) {
      const cycle = visit(target, [...path, name]);
      if (cycle !== null) return cycle;
    }
    visited.add(name);
    return null;
  };
  for (const name of Object.keys(States)) {
    const cycle = visit(name, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

const oddName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 120, unit: 'binary' }),
  fc.string({ minLength: 1, maxLength: 120, unit: 'grapheme' }),
  fc.constantFrom('__proto__', 'constructor', 'x'.repeat(200), 'x'.repeat(201), '$.a', '"', '\n', '\ud800'),
);
const checksOf = (type: 'deterministic' | 'agent' | 'human', maxLength: number) =>
  fc.array(
    fc
      .record({ name: oddName, required: fc.boolean(), timeout_seconds: fc.integer({ min: 1, max: 600 }) })
      .map(({ name, required, timeout_seconds }) =>
        buildCheck(name, type, type === 'deterministic' ? { required, timeout_seconds } : { required }),
      ),
    { maxLength },
  );
const anyPlan = fc
  .record({
    deterministic: checksOf('deterministic', 12),
    agent: checksOf('agent', 6),
    human: checksOf('human', 2),
    max_iterations: fc.integer({ min: 1, max: 10 }),
  })
  .map(({ deterministic, agent, human, max_iterations }) =>
    buildEdgePlan({ checks: [...deterministic, ...agent, ...human], max_iterations }),
  );

describe('the machine of an edge', () => {
  // req: ITR-009
  it('is the expected document for the example in the specification', async () => {
    const compiled = compileMachine(SPECIFICATION_PLAN);
    expectSound(compiled, SPECIFICATION_PLAN);
    expect(aslErrors(compiled.machine)).toEqual([]);
    const text = `${JSON.stringify(compiled, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot('__snapshots__/specification-example.asl.snap');
    const diagram = machineMermaid(compiled.machine);
    await expect(diagram).toMatchFileSnapshot('__snapshots__/specification-example.mermaid.snap');
  });

  it.each(EDGES)('is the expected one for the built-in edge %s', async (edge) => {
    const { reason, machine } = compileMachine(builtInPlan(edge, 'full'));
    const text = `%% ${reason}\n${machineMermaid(machine)}`;
    await expect(text).toMatchFileSnapshot(`__snapshots__/${edge}.mermaid.snap`);
  });

  // req: ITR-001, ITR-002
  it.each(EDGES)('is valid for the built-in edge %s in every profile', (edge) => {
    const plans = Object.keys(BUILT_IN.profiles).map((profile) => builtInPlan(edge, profile));
    const compiled = plans.map((plan) => compileMachine(plan));
    for (const [at, plan] of plans.entries()) expectSound(compiled[at] as CompiledMachine, plan);
    expect(aslErrorsOfAll(compiled.map(({ machine }) => machine))).toEqual([]);
  });

  it('is valid, and the same each time, for any checks', () => {
    const machines: StateMachine[] = [];
    fc.assert(
      fc.property(anyPlan, (plan) => {
        const compiled = compileMachine(plan);
        expectSound(compiled, plan);
        const recompiled = compileMachine(JSON.parse(JSON.stringify(plan)));
        expect(JSON.stringify(recompiled)).toBe(JSON.stringify(compiled));
        machines.push(compiled.machine);
      }),
      { numRuns: 200 },
    );
    expect(aslErrorsOfAll(machines)).toEqual([]);
  });

  it('is refused by the validator if it is wrong, alone and among others', () => {
    const { machine } = compileMachine(buildEdgePlan());
    const brokenMachine = {
      ...machine,
      States: { ...machine.States, Promote: { Type: 'Pass', Next: 'Moon' } as const },
    };
    expect(aslErrors(brokenMachine)).not.toEqual([]);
    expect(aslErrorsOfAll([machine, brokenMachine])).not.toEqual([]);
  });

  it('leaves out tiers without checks', () => {
    const { machine } = compileMachine(buildEdgePlan({ checks: [] }));
    expect(machine.States.ConstructCandidate).toMatchObject({ Next: 'JudgeIteration' });
    expect(statesIn(machine).filter(([, { Type }]) => Type === 'Parallel')).toEqual([]);
  });

  // req: ITR-005
  it('judges a candidate at once if a required check of a tier blocks, and finds the check by its index', () => {
    const optional = { required: false };
    const checks = [
      buildCheck('a', 'deterministic', optional),
      buildCheck('b'),
      buildCheck('c'),
      buildCheck('d', 'agent', optional),
    ];
    const { machine } = compileMachine(buildEdgePlan({ checks }));
    const blockingRule = (at: number) => ({ Variable: `$.deterministic[${at}].blocks`, BooleanEquals: true });
    expect(machine.States['DeterministicPassed?']).toEqual({
      Type: 'Choice',
      Choices: [{ Or: [blockingRule(1), blockingRule(2)], Next: 'JudgeIteration' }],
      Default: 'AgentChecks',
    });
    expect(machine.States).not.toHaveProperty(['AgentPassed?']);
    expect(machine.States.AgentChecks).toMatchObject({ Next: 'JudgeIteration' });
  });

  it('passes nothing about the old candidate on to the next iteration', () => {
    const { NextIteration } = compileMachine(SPECIFICATION_PLAN).machine.States;
    expect(Object.keys((NextIteration as { Parameters: object }).Parameters)).toEqual([
      'run.$',
      'iteration.$',
      'claim.$',
      'config.$',
      'context.$',
      'candidate.$',
      'verdict.$',
    ]);
  });

  it('loops at most max_iterations times, even if every verdict is LOOP', () => {
    const { ConvergenceCheck } = compileMachine(buildEdgePlan({ max_iterations: 4 })).machine.States;
    expect(JSON.stringify(ConvergenceCheck)).toContain(
      '{"Not":{"Variable":"$.verdict.next_iteration","NumericGreaterThan":4}}',
    );
  });

  it('calls the functions whose ARNs the caller gives', () => {
    const functionArn = (handler: string) => `arn:aws:lambda:eu-west-1:123456789012:function:my-${handler}`;
    const { machine } = compileMachine(SPECIFICATION_PLAN, { functionArn });
    expect(aslErrors(machine)).toEqual([]);
    const text = JSON.stringify(machine);
    expect(text).not.toContain('genesis-');
    expect(text).toContain(`"FunctionName":"${functionArn('request_review')}"`);
  });
});

describe('errors', () => {
  const { machine } = compileMachine(SPECIFICATION_PLAN);
  const tasks = statesIn(machine).flatMap(([name, state]) =>
    state.Type === 'Task' ? [[name, state] as const] : [],
  );

  // req: ITR-010
  it.each(tasks)('of %s are retried with backoff and jitter, within a timeout', (_, task) => {
    const retried = (task.Retry ?? []).flatMap(({ ErrorEquals }) => ErrorEquals);
    const { throttled, overloaded, unavailable } = ENGINE_ERRORS;
    expect(retried).toEqual(expect.arrayContaining([throttled, overloaded, unavailable]));
    expect(retried).toContain('Lambda.TooManyRequestsException');
    for (const retrier of task.Retry ?? []) {
      expect(retrier).toMatchObject({ BackoffRate: 2, JitterStrategy: 'FULL' });
    }
    expect(task.TimeoutSeconds).toBeGreaterThan(0);
    expect(task.Catch?.length).toBeGreaterThan(0);
  });

  it('of a check become its outcome, except a lost claim, which ends the execution', () => {
    const branch = machinesIn(machine)[1] as StateMachine;
    const task = branch.States[branch.StartAt] as Extract<(typeof tasks)[number][1], object>;
    expect(task.Catch?.[0]?.ErrorEquals).toEqual(expect.arrayContaining(['States.Timeout', 'Engine.Failed']));
    for (const name of [
      'States.ALL',
      'States.TaskFailed',
      ENGINE_ERRORS.claimLost,
      ENGINE_ERRORS.configChanged,
    ]) {
      expect(task.Catch?.flatMap(({ ErrorEquals }) => ErrorEquals)).not.toContain(name);
    }
    expect(branch.States[task.Catch?.[0]?.Next ?? '']).toMatchObject({
      Type: 'Pass',
      Parameters: { name: 'pytest_tests_design_v', result: 'error', blocks: true },
      End: true,
    });
    expect(machine.States.DeterministicChecks).toMatchObject({
      Catch: [{ ErrorEquals: [ENGINE_ERRORS.claimLost], Next: 'ClaimLost' }, { Next: 'Escalate' }],
    });
  });
});

// req: ITR-020
describe('timeouts', () => {
  const timeoutOf = (overrides: Partial<EdgePlan>, state: string) => {
    const states = Object.fromEntries(statesIn(compileMachine(buildEdgePlan(overrides)).machine));
    return (states[state] as { TimeoutSeconds?: number }).TimeoutSeconds;
  };
  const human = { checks: [buildCheck('look', 'human')] };
  const review = (deadline_days: number) => ({ ...human, settings: { review: { deadline_days } } });
  const command = { type: 'command', command: ['a'] } as const;

  it.each<[string, Partial<EdgePlan>, string, number]>([
    ['a check', {}, 'Check: tests_pass', 610],
    [
      'a check with its own timeout',
      { checks: [buildCheck('a', 'deterministic', { timeout_seconds: 5 })] },
      'Check: a',
      15,
    ],
    ['an agent', { construct: command }, 'ConstructCandidate', 3610],
    [
      'an agent with its own timeout',
      { construct: { ...command, timeout_seconds: 60 } },
      'ConstructCandidate',
      70,
    ],
    ['a judge', { checks: [buildCheck('a', 'agent')], evaluate: command }, 'Judge: a', 610],
    ['a person', human, 'HumanGate', 14 * 86_400],
    ['a person with a deadline', review(0.5), 'HumanGate', 43_200],
    ['a person with the longest deadline', review(366), 'HumanGate', 365 * 86_400],
  ])('are set for %s', (_, overrides, state, seconds) => {
    expect(timeoutOf(overrides, state)).toBe(seconds);
  });

  it('of the review gate lead to NO_ANSWER', () => {
    const { HumanGate, NoAnswer } = compileMachine(buildEdgePlan(human)).machine.States;
    expect(HumanGate).toMatchObject({
      Catch: [{ ErrorEquals: ['States.Timeout'], ResultPath: null, Next: 'NoAnswer' }, {}, {}],
    });
    expect(NoAnswer).toMatchObject({ Result: { decision: 'NO_ANSWER' }, Next: 'JudgeIteration' });
  });
});

describe('the type of a workflow', () => {
  const fast = buildCheck('lint', 'deterministic', { timeout_seconds: 5 });
  const optional = { required: false };

  it.each<[string, Partial<EdgePlan>, string]>([
    ['no check', { checks: [] }, 'Standard: the edge has no check.'],
    [
      'a person',
      { checks: [fast, buildCheck('look', 'human', optional)] },
      'a person decides the check look',
    ],
    ['an agent', { checks: [fast, buildCheck('read', 'agent', optional)] }, 'an agent judges the check read'],
    ['a slow check', { checks: [fast, buildCheck('slow')] }, '2 iterations may take 1480 seconds'],
    ['a slow agent', { construct: { type: 'command', command: ['a'] } }, 'may take 7'],
    ['many iterations', { max_iterations: 3 }, '3 iterations may take 355 seconds'],
  ])('is Standard with %s', (_, overrides, reason) => {
    const plan = buildEdgePlan({ checks: [fast], max_iterations: 2, ...overrides });
    const compiled = compileMachine(plan);
    expect(compiled).toMatchObject({ workflow_type: 'STANDARD', reason: expect.stringContaining(reason) });
    expect(compiled.machine).not.toHaveProperty('TimeoutSeconds');
  });

  // req: ITR-008
  it('is Express with fast programs only, and limits the machine to five minutes', () => {
    expect(compileMachine(buildEdgePlan({ checks: [fast, fast], max_iterations: 1 }))).toMatchObject({
      workflow_type: 'EXPRESS',
      reason: 'Express: all checks are programs, and 1 iteration may take 225 seconds, less than 300.',
      machine: { TimeoutSeconds: 300 },
    });
  });

  it('is Express only if the machine waits for no person and ends in time, for any checks', () => {
    fc.assert(
      fc.property(anyPlan, (plan) => {
        const { workflow_type, machine } = compileMachine(plan);
        const hasTaskToken = JSON.stringify(machine).includes('waitForTaskToken');
        if (workflow_type === 'EXPRESS') expect(hasTaskToken || 'AgentChecks' in machine.States).toBe(false);
        expect(workflow_type === 'EXPRESS').toBe('TimeoutSeconds' in machine);
      }),
    );
  });
});
