import { engineError } from '../../src/engine/engine-error.js';
import type { EngineServices } from '../../src/engine/handlers/services.js';
import { scriptedServicesOn } from '../../src/engine/testing/engine-harness.js';
import type { ProjectKey } from '../../src/stores/store.js';
import type { ActorContext } from '../actors/sim-actor.js';
import type { SimProcess } from '../world/process.js';
import { Rng } from '../world/rng.js';
import type { EdgeUnderTest } from './edges.js';

/** Shares of attempts that fail, and of candidates that pass a check. */
const STEP_FAILURE_CHANCE = 0.05;
const PASS_CHANCE = 0.75;
const TOKENS_PER_CANDIDATE = 250;
const FAILING_TEXT = 'failed';

interface ServicesParts {
  readonly context: ActorContext;
  readonly projectKey: ProjectKey;
  readonly process: SimProcess;
  readonly rng: Rng;
  readonly agent_id: string;
  readonly coordination: EngineServices['coordination'];
}

/**
 * Scripted services on simulated parts. A candidate made again differs, as a model's candidate would; whether it passes
 * a check depends only on its content. Each use of a blob takes time, in which the process may die.
 */
export function simServices(
  { context, projectKey, process, rng, agent_id, coordination }: ServicesParts,
  { subject, plan }: EdgeUnderTest,
): EngineServices {
  const { world, fleet, scenario } = context;
  const spendTime = (what: string, maxMs: number): Promise<void> =>
    process.sleep(rng.between(0, maxMs), what);
  const maybeFail = (): void => {
    if (!rng.chance(STEP_FAILURE_CHANCE)) return;
    throw engineError(rng.pick(['throttled', 'overloaded', 'malformed', 'timeout'] as const), 'It failed.');
  };
  const passes = (check: string, content: string): boolean =>
    new Rng(`${scenario.seed} ${check} ${content}`).chance(PASS_CHANCE);
  const script = {
    plan,
    candidate: (iteration: number) => `${subject} ${iteration} ${rng.int(1_000_000)}`,
    passes,
  };
  const harness = { blobs: fleet.blobs, key: projectKey, environment: { clock: process.clock } };
  const baseServices = scriptedServicesOn(coordination, harness, script, { agent_id });
  const hasHuman = plan.checks.some(({ type }) => type === 'human');
  const constructionMs = scenario.lease_seconds * 300;
  return {
    ...baseServices,
    blobs: {
      put: async (bytes) => {
        await spendTime('stores a blob', 5);
        return baseServices.blobs.put(bytes);
      },
      get: async (reference) => {
        await spendTime('reads a blob', 5);
        return baseServices.blobs.get(reference);
      },
    },
    openConstructor: async () => async (construction) => {
      const { iteration, prompt, signal } = construction;
      // After a person has requested changes, there need not be a failed check.
      if (iteration > 1 && !hasHuman && !prompt.includes(FAILING_TEXT) && !prompt.includes('error: Engine'))
        world.reportViolation(
          'RUN',
          `${subject}: the prompt of iteration ${iteration} does not say why the last iteration failed`,
        );
      await spendTime('makes a candidate', constructionMs);
      signal.throwIfAborted();
      maybeFail();
      const construct = await baseServices.openConstructor(plan);
      const cost = { input_tokens: TOKENS_PER_CANDIDATE, output_tokens: 0, usd: 0, seconds: 0 };
      return { ...(await construct(construction)), cost };
    },
    openEvaluator: async () => ({
      canReadFolder: true,
      ask: async ({ checks, folder }) => {
        await spendTime('judges', constructionMs / 4);
        maybeFail();
        const verdicts = checks.map((name) => ({
          name,
          result: passes(name, folder) ? 'pass' : 'fail',
          score: 1,
          issues: passes(name, folder) ? [] : [{ criterion: name, score: 0, says: FAILING_TEXT }],
        }));
        const cost = { input_tokens: 10, output_tokens: 0, usd: 0, seconds: 0 };
        return { text: JSON.stringify({ verdicts }), session: 'judge', cost };
      },
    }),
    runCheck: async (run) => {
      await spendTime('runs a check', constructionMs / 4);
      run.signal.throwIfAborted();
      return baseServices.runCheck(run);
    },
  };
}
