import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { StateMachine } from '../../src/core/engine/asl.js';
import { compileMachine, functionName } from '../../src/core/engine/compile-machine.js';
import { handlerResults, type StepHandlerName } from '../../src/core/engine/run-data.js';
import { buildCheck, buildEdgePlan } from '../../src/core/engine/testing.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { executeRun } from '../../src/engine/runs/execute-run.js';
import { answerWaitingTask, invokeStep } from '../../src/engine/runs/invoke-step.js';
import { type EngineHarness, instantHost } from '../../src/engine/testing/engine-harness.js';
import { skipGroup } from '../../src/stores/testing/on-database.js';
import { CoordinatorHarness, PROJECT_KEY, unwrap } from '../support/coordinator-harness.js';
import type { FunctionAnswer } from '../support/step-functions/function-server.js';
import { StepFunctionsServer } from '../support/step-functions/step-functions-server.js';
import { featureFile } from '../support/workspace-files.js';
import { comparableEvents } from './comparable-events.js';
import {
  EDGE,
  edgeFileOf,
  FEATURE,
  type GeneratedRun,
  generatedRun,
  ScriptedWorld,
} from './generated-run.js';

const RUNS = fc.sample(generatedRun, { seed: 20_261_120, numRuns: 50 });
const SUBJECT = `${FEATURE}#${EDGE}`;
const RUN_ID = '0190a0a0-0000-7000-8000-000000000001';
const NEXT_RUN_ID = '0190a0a0-0000-7000-8000-000000000002';
const REQUEST = { ...PROJECT_KEY, feature_id: FEATURE, edge: EDGE, agent_role: 'full_stack' };
const SIGNAL = new AbortController().signal;
const HANDLERS = Object.keys(handlerResults) as StepHandlerName[];

/** A new coordinator that knows the edge. */
async function openConfigured({ plan }: GeneratedRun): Promise<EngineHarness & CoordinatorHarness> {
  const harness = await CoordinatorHarness.open('memory');
  const files = {
    'graph/edges/design_code.yml': edgeFileOf(plan),
    [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
  };
  unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
  return Object.assign(harness, { key: PROJECT_KEY });
}

async function decide({ coordinator }: EngineHarness, world: ScriptedWorld): Promise<void> {
  const { reviews } = unwrap(await coordinator.methodology.reviews(PROJECT_KEY));
  const { task_id, generation, iteration, candidate_sha256 } = reviews[0]!;
  const candidate = { task_id, generation, iteration, candidate_sha256 };
  unwrap(
    await coordinator.decisions.recordReview(PROJECT_KEY, {
      ...candidate,
      decision: world.nextDecision(),
      comment: 'say why',
    }),
  );
}

/** Executes the runs in this process. A person decides whenever a run waits, and between two runs. */
async function runHere(run: GeneratedRun, runIds: readonly string[] = [RUN_ID]): Promise<EventEnvelope[]> {
  const harness = await openConfigured(run);
  const world = new ScriptedWorld(run);
  for (const [at, runId] of runIds.entries()) {
    if (at > 0) await decide(harness, world);
    const host = { ...instantHost(), newRunId: () => runId };
    for (;;) {
      const end = await executeRun(REQUEST, world.services(harness), host, SIGNAL);
      if (end.status !== 'WAITING') break;
      await decide(harness, world);
    }
  }
  return harness.events();
}

/** Executes the same machine on the stand-in. Each task is a new invocation, with services of its own. */
async function runOn(
  server: StepFunctionsServer,
  prefix: string,
  run: GeneratedRun,
  runIds: readonly string[] = [RUN_ID],
): Promise<EventEnvelope[]> {
  const harness = await openConfigured(run);
  const world = new ScriptedWorld(run);
  const invoke = async (name: StepHandlerName, payload: unknown): Promise<FunctionAnswer> => {
    try {
      const options = { agent_role: 'full_stack' };
      return { result: await invokeStep(world.services(harness), name, payload, SIGNAL, options) };
    } catch (error) {
      const { name: type, message } = error as Error;
      return { error: type, cause: message };
    }
  };
  /** Answers the waiting task, as the function that is called for a review in the log does. */
  const answer = async (): Promise<void> => {
    const answered = await answerWaitingTask(world.services(harness), SUBJECT, SIGNAL);
    if (answered === null) throw new Error('The run does not wait for the review.');
    await server.sendAnswer(answered.task_token, { result: answered.result });
  };
  for (const name of HANDLERS) {
    server.functions.add(`${prefix}${functionName(name)}`, async (payload) => {
      const reply = await invoke(name, payload);
      if (name === 'request_review' && 'result' in reply && reply.result === null) {
        await decide(harness, world);
        await answer();
      }
      return reply;
    });
  }
  const { machine } = compileMachine(run.plan);
  const renamed = JSON.parse(JSON.stringify(machine).replaceAll(':function:', `:function:${prefix}`));
  for (const [at, run_id] of runIds.entries()) {
    if (at > 0) await decide(harness, world);
    const input = { run: { run_id, ...PROJECT_KEY, feature_id: FEATURE, edge: EDGE }, iteration: 1 };
    await server.run(renamed as StateMachine, input);
  }
  return harness.events();
}

describe('the generated runs', () => {
  it('end in every way, and reach every step', async () => {
    const events = (await Promise.all(RUNS.map((run) => runHere(run)))).flat();
    const payloads = (type: string) =>
      events.filter(({ event_type }) => event_type === type).map(({ payload }) => payload);
    const ends = payloads('run_ended').map(({ status, reason }) => `${status} ${reason}`);
    expect(ends).toHaveLength(RUNS.length);
    expect(new Set(ends)).toEqual(
      new Set([
        'CONVERGED null',
        ...['REJECTED', 'MAX_ITERATIONS', 'STUCK', 'STEP_FAILED'].map((reason) => `ESCALATED ${reason}`),
      ]),
    );
    const steps = payloads('run_step_completed').map(({ step }) => String(step).split(' ')[0]);
    expect(new Set(steps)).toEqual(new Set(HANDLERS.filter((name) => name !== 'claim_edge')));
    const errors = payloads('run_step_failed').map(({ error }) => error);
    expect(new Set(errors)).toEqual(
      new Set(['Engine.Failed', 'Engine.Malformed', 'Engine.Throttled', 'Engine.Unavailable']),
    );
  });
});

const server = await StepFunctionsServer.start();
if ('missing' in server) skipGroup('step-functions', server.missing);
else {
  afterAll(() => server.stop());
  describe('a run of an edge on Step Functions', () => {
    // req: AWS-001
    it.concurrent.each(RUNS.map((run, index) => ({ index, run })))(
      'leaves the same events in the log as in this process ($index)',
      async ({ index, run }) => {
        const here = comparableEvents(await runHere(run), run.plan);
        const there = comparableEvents(await runOn(server, `r${index}-`, run), run.plan);
        expect(there, JSON.stringify(run)).toEqual(here);
      },
    );

    it('begins with the findings of an earlier run, and the comment with which a person requested changes', async () => {
      const checks = [buildCheck('tests_pass', 'deterministic')];
      const plan = buildEdgePlan({ feature_id: FEATURE, edge: EDGE, checks, max_iterations: 1 });
      const run: GeneratedRun = {
        plan,
        construct: ['pass'],
        checks: { tests_pass: ['fail'] },
        decisions: ['CHANGES_REQUESTED'],
      };
      const runIds = [RUN_ID, NEXT_RUN_ID];
      const here = comparableEvents(await runHere(run, runIds), plan);
      const there = comparableEvents(await runOn(server, 'revised-', run, runIds), plan);
      const started = there.filter(({ event_type }) => event_type === 'run_started');
      expect(started.map(({ payload }) => payload)).toMatchObject([{}, { retry_of: RUN_ID }]);
      const prompts = there.flatMap(({ payload }) => {
        const { step, output } = payload as { step?: string; output?: { prompt_sha256: string } };
        return step === 'construct_candidate' && output !== undefined ? [output.prompt_sha256] : [];
      });
      expect(new Set(prompts).size).toBe(2);
      expect(there).toEqual(here);
    });
  });
}
