import fc from 'fast-check';
import type { EffectiveCheck } from '../../src/core/contract/checks.js';
import type { EdgePlan } from '../../src/core/engine/edge-plan.js';
import { buildCheck, buildEdgePlan } from '../../src/core/engine/testing.js';
import { engineError } from '../../src/engine/engine-error.js';
import type { EngineServices } from '../../src/engine/handlers/services.js';
import { type EngineHarness, scriptedServices } from '../../src/engine/testing/engine-harness.js';

export const FEATURE = 'REQ-F-A';
export const EDGE = 'design_code';

/**
 * The outcome of a step in an iteration. `busy`: throttled twice, then passes. `refused`: throttled each time. `away`: not
 * available at the first call, then passes.
 */
const SCRIPTED_OUTCOMES = ['pass', 'fail', 'error', 'malformed', 'busy', 'refused', 'away'] as const;
type ScriptedOutcome = (typeof SCRIPTED_OUTCOMES)[number];
type ScriptedDecision = 'APPROVED' | 'REJECTED' | 'CHANGES_REQUESTED';

/** An edge, and what happens in each iteration of its run: the last entry of a list is repeated. */
export interface GeneratedRun {
  readonly plan: EdgePlan;
  readonly construct: readonly ScriptedOutcome[];
  /** By the name of the check. */
  readonly checks: Readonly<Record<string, readonly ScriptedOutcome[]>>;
  readonly decisions: readonly ScriptedDecision[];
}

const scriptOf = (weights: readonly [ScriptedOutcome, number][]) =>
  fc.array(fc.oneof(...weights.map(([value, weight]) => ({ weight, arbitrary: fc.constant(value) }))), {
    minLength: 1,
    maxLength: 4,
  });
const checkScript = scriptOf([
  ['pass', 12],
  ['fail', 4],
  ...(['error', 'malformed', 'busy', 'refused', 'away'] as const).map((each): [ScriptedOutcome, number] => [
    each,
    1,
  ]),
]);
const constructScript = scriptOf([
  ['pass', 20],
  ['busy', 2],
  ['away', 1],
  ['error', 1],
]);

const checksOf = (type: 'deterministic' | 'agent', minLength: number, maxLength: number) =>
  fc.array(fc.record({ required: fc.boolean(), script: checkScript }), { minLength, maxLength }).map((all) =>
    all.map(({ required, script }, at) => ({
      check: buildCheck(`${type}_${at}`, type, { required }),
      script,
    })),
  );

export const generatedRun: fc.Arbitrary<GeneratedRun> = fc
  .record({
    deterministic: checksOf('deterministic', 1, 2),
    agent: checksOf('agent', 0, 2),
    isHumanRequired: fc.boolean(),
    construct: constructScript,
    decisions: fc.array(
      fc.constantFrom<ScriptedDecision>('APPROVED', 'APPROVED', 'CHANGES_REQUESTED', 'REJECTED'),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
    max_iterations: fc.integer({ min: 1, max: 3 }),
    stuck_threshold: fc.integer({ min: 2, max: 3 }),
  })
  .map(({ deterministic, agent, isHumanRequired, construct, decisions, ...limits }) => {
    const scripted = [...deterministic, ...agent];
    const human = isHumanRequired ? [buildCheck('human_approval', 'human')] : [];
    const checks = [...scripted.map(({ check }) => check), ...human];
    return {
      plan: buildEdgePlan({ feature_id: FEATURE, edge: EDGE, checks, ...limits }),
      construct,
      checks: Object.fromEntries(scripted.map(({ check, script }) => [check.name, script])),
      decisions,
    };
  });

/** The file of the edge, for the coordinator: JSON is YAML. */
export function edgeFileOf({ checks, max_iterations, stuck_threshold }: EdgePlan): string {
  const fileCheck = ({ name, type, criterion, required, command }: EffectiveCheck) => ({
    ...{ name, type, criterion, required },
    ...(command === undefined ? {} : { command }),
  });
  return JSON.stringify({
    edge: 'design→code',
    checklist: checks.filter(({ type }) => type !== 'human').map(fileCheck),
    convergence: {
      max_iterations,
      stuck_threshold,
      human_required: checks.some(({ type }) => type === 'human'),
    },
  });
}

/** Plays the script of a run, and counts the calls of each step, which no step remembers itself. */
export class ScriptedWorld {
  private readonly calls = new Map<string, number>();
  private decided = 0;

  constructor(private readonly run: GeneratedRun) {}

  /** New services, as a function that starts has them. */
  services(harness: EngineHarness): EngineServices {
    const { plan, checks } = this.run;
    const scripted = scriptedServices(harness, {
      plan,
      candidate: (iteration) => `candidate ${iteration}`,
      passes: (check, content) => this.playStep(check, Number(content.split(' ')[1]), checks[check]),
    });
    return {
      ...scripted,
      openConstructor: async (ofPlan) => {
        const construct = await scripted.openConstructor(ofPlan);
        return async (construction) => {
          this.playStep('construct', construction.iteration, this.run.construct);
          const cost = { input_tokens: 10, output_tokens: construction.iteration, usd: 0.5, seconds: 1 };
          return { ...(await construct(construction)), cost };
        };
      },
      openEvaluator: async () => ({
        canReadFolder: true,
        ask: async ({ checks: names, iteration }) => ({
          text: JSON.stringify({
            verdicts: names.map((name) => {
              const result = this.playStep(name, iteration, checks[name]) ? 'pass' : 'fail';
              return {
                name,
                result,
                score: 0.5,
                issues: [{ criterion: 'it reads well', score: 0.5, says: result }],
              };
            }),
          }),
          session: `judge-${names.join()}-${iteration}`,
          cost: { input_tokens: 3, output_tokens: 1, usd: 0.25, seconds: 2 },
        }),
      }),
    };
  }

  nextDecision(): ScriptedDecision {
    const { decisions } = this.run;
    this.decided += 1;
    return decisions[this.decided - 1] ?? (decisions.at(-1) as ScriptedDecision);
  }

  /** Records the call. Throws the scripted error, or returns whether the step passes. */
  private playStep(name: string, iteration: number, script: readonly ScriptedOutcome[] = ['pass']): boolean {
    const call = `${name} ${iteration}`;
    const earlierCalls = this.calls.get(call) ?? 0;
    this.calls.set(call, earlierCalls + 1);
    const result = script[iteration - 1] ?? script.at(-1);
    if (result === 'error') throw engineError('failed', `${call} has failed`);
    if (result === 'malformed') throw engineError('malformed', `${call} has no valid answer`);
    if (result === 'refused' || (result === 'busy' && earlierCalls < 2))
      throw engineError('throttled', `${call} is throttled`);
    if (result === 'away' && earlierCalls < 1) throw engineError('unavailable', `${call} is away`);
    return result !== 'fail';
  }
}
