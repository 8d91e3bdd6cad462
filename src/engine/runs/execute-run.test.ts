import { describe, expect, test } from 'vitest';
import {
  type CoordinatorHarness,
  forEachStore,
  type OpenHarness,
  PROJECT_KEY,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { featureFile } from '../../../test/support/workspace-files.js';
import type { AppendBody } from '../../core/contract/events.js';
import { foldRuns } from '../../core/engine/runs.js';
import { buildCheck, buildEdgePlan } from '../../core/engine/testing.js';
import { withResultCounts } from '../../core/methodology/definition/convergence.js';
import type { EdgeCoordination } from '../coordination.js';
import { engineError } from '../engine-error.js';
import type { EngineServices } from '../handlers/services.js';
import { instantHost, type RunTrace, type ScriptedRun, scriptedServices } from '../testing/engine-harness.js';
import { executeRun, type RunEnd, type RunHost } from './execute-run.js';

const FEATURE = 'REQ-F-A';
const SUBJECT = `${FEATURE}#design_code`;
const REQUEST = { ...PROJECT_KEY, feature_id: FEATURE, edge: 'design_code', agent_role: 'full_stack' };
const SIGNAL = new AbortController().signal;

const edgeFile = (isHumanRequired: boolean): string => `
edge: "design→code"
checklist:
  - { name: tests_pass, type: deterministic, criterion: tests pass, required: true, command: make }
convergence: { max_iterations: 4, human_required: ${isHumanRequired} }
`;

const PLAN = buildEdgePlan({
  feature_id: FEATURE,
  edge: 'design_code',
  max_iterations: 4,
  stuck_threshold: 3,
});
const HUMAN_PLAN = { ...PLAN, checks: [buildCheck('tests_pass'), buildCheck('human_approval', 'human')] };

/** The second candidate passes. */
const SCRIPT: ScriptedRun = {
  plan: PLAN,
  candidate: (iteration) => (iteration === 1 ? 'wrong' : 'right'),
  passes: (_, content) => content === 'right',
};

const servicesOf = (
  { coordinator, store, blobs, environment }: CoordinatorHarness,
  script: ScriptedRun,
  options?: Parameters<typeof scriptedServices>[2],
) => scriptedServices({ coordinator, store, blobs, environment, key: PROJECT_KEY }, script, options);

const newTrace = (): RunTrace => ({ constructed: [], checked: [] });

forEachStore('a run of an edge', (open) => {
  async function openConfigured(
    openStore: OpenHarness,
    isHumanRequired = false,
  ): Promise<CoordinatorHarness> {
    const harness = await openStore();
    const files = {
      'graph/edges/design_code.yml': edgeFile(isHumanRequired),
      'engine.yml': 'construct: { type: command, command: [make] }\n',
      [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
    };
    unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
    return harness;
  }

  const typesIn = async (harness: CoordinatorHarness): Promise<string[]> =>
    (await harness.eventTypesOf(SUBJECT)).filter((type) => type !== 'heartbeat');

  // req: ITR-006
  test('loops until the checks pass, and its candidate becomes the result', async () => {
    const harness = await openConfigured(open);
    const trace = newTrace();
    const end = await executeRun(REQUEST, servicesOf(harness, SCRIPT, { trace }), instantHost(), SIGNAL);
    expect(end).toMatchObject({
      status: 'ENDED',
      run: { status: 'CONVERGED', iterations: 2, generation: 1 },
    });
    expect(trace).toEqual({ constructed: [1, 2], checked: ['tests_pass wrong', 'tests_pass right'] });
    expect((await typesIn(harness)).filter((type) => type === 'edge_converged')).toHaveLength(1);
  });

  test('converges although another agent has recorded its own events under every id that derives from the run', async () => {
    const harness = await openConfigured(open);
    const services = servicesOf(harness, SCRIPT);
    const { coordination } = services;
    const takenIds: string[] = [];
    const appendEvent: EdgeCoordination['appendEvent'] = async (body) => {
      const { event_id = '' } = body;
      if (/^.{14}8/.test(event_id) && takenIds.length < 100 && isFirstTry(body)) {
        takenIds.push(event_id);
        const forged = { event_type: 'iteration_completed', agent_id: 'mallory', event_id };
        const payload = { iteration: 1, status: 'iterating' };
        unwrap(await harness.coordinator.holder.appendEvent(PROJECT_KEY, { ...forged, payload }));
      }
      return coordination.appendEvent(body);
    };
    const recorded = new Set<string>();
    const isFirstTry = ({ event_type, payload }: Parameters<typeof appendEvent>[0]): boolean => {
      const key = JSON.stringify([event_type, payload]);
      const isFirst = !recorded.has(key);
      recorded.add(key);
      return isFirst;
    };
    const attackedServices = { ...services, coordination: { ...coordination, appendEvent } };
    const end = await executeRun(REQUEST, attackedServices, instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED', iterations: 2 } });
    expect(takenIds.length).toBeGreaterThan(10);
    const types = await typesIn(harness);
    for (const type of ['run_started', 'run_ended', 'edge_converged'])
      expect([type, types.filter((recorded) => recorded === type)]).toEqual([type, [type]]);
  });

  // req: ITR-007
  test('hands an edge that does not converge to a person, with what was tried', async () => {
    const harness = await openConfigured(open);
    const neverPassing = { ...SCRIPT, candidate: () => 'wrong' };
    const end = await executeRun(REQUEST, servicesOf(harness, neverPassing), instantHost(), SIGNAL);
    expect(end).toMatchObject({
      status: 'ENDED',
      run: { status: 'ESCALATED', reason: 'STUCK', iterations: 3 },
    });
    const { reviews } = unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY));
    expect(reviews).toMatchObject([{ task_id: SUBJECT, iteration: 3 }]);
    expect(reviews[0]?.reason).toContain('The same checks have failed 3 times in a row: tests_pass.');
    expect(reviews[0]?.reason).toContain(
      `gen spawn --type discovery --parent ${FEATURE} --edge design_code --reason 'stuck on design_code'`,
    );
  });

  test('is reported as stuck, with the command that spawns a discovery, until a person acts', async () => {
    const harness = await openConfigured(open);
    const neverPassing = { ...SCRIPT, candidate: () => 'wrong' };
    await executeRun(REQUEST, servicesOf(harness, neverPassing), instantHost(), SIGNAL);
    const stuckIn = async () =>
      unwrap(await harness.coordinator.methodology.start(PROJECT_KEY, {})).escalations.filter(
        ({ kind }) => kind === 'stuck',
      );
    expect(await stuckIn()).toMatchObject([
      {
        feature_id: FEATURE,
        edge: 'design_code',
        next: expect.stringContaining(`gen spawn --type discovery --parent ${FEATURE} --edge design_code`),
      },
    ]);
    const operator = { expected_generation: 1, reason: 'think first' };
    unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, SUBJECT, 'hold', operator));
    expect(await stuckIn()).toEqual([]);
  });

  test('ends as RESET if its accepted candidate was reset before the end was recorded, and another run begins', async () => {
    const harness = await openConfigured(open);
    const script = { ...SCRIPT, candidate: () => 'right' };
    const services = servicesOf(harness, script);
    const { coordination } = services;
    const submitResult: EdgeCoordination['submitResult'] = async (body) => {
      const reply = await coordination.submitResult(body);
      const operator = { expected_generation: 1, reason: 'wrong after all' };
      unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, SUBJECT, 'reset', operator));
      return reply;
    };
    const resettingServices = { ...services, coordination: { ...coordination, submitResult } };
    expect(await executeRun(REQUEST, resettingServices, instantHost(), SIGNAL)).toMatchObject({
      status: 'CLAIM_LOST',
    });
    const end = await executeRun(REQUEST, servicesOf(harness, script), instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED', generation: 2 } });
    const runs = foldRuns((await harness.events()).filter(({ subject }) => subject === SUBJECT));
    expect(runs).toMatchObject([
      { status: 'FAILED', reason: 'RESET' },
      { status: 'CONVERGED', retry_of: runs[0]?.run_id },
    ]);
  });

  test('records every failed attempt with its cost, and the completed step once', async () => {
    const harness = await openConfigured(open);
    const services = servicesOf(harness, SCRIPT);
    const cost = { input_tokens: 5, output_tokens: 0, usd: 0, seconds: 0 };
    let failures = 2;
    const failingServices: EngineServices = {
      ...services,
      openConstructor: async (plan) => {
        if (failures === 0) return services.openConstructor(plan);
        failures -= 1;
        throw engineError('throttled', 'Try later.', cost);
      },
    };
    const end = await executeRun(REQUEST, failingServices, instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED' } });
    const events = (await harness.events()).filter(
      ({ payload }) => payload.step === 'construct_candidate' && payload.iteration === 1,
    );
    expect(events.map(({ event_type, payload }) => `${event_type} ${payload.attempt}`)).toEqual([
      'run_step_started 1',
      'run_step_failed 1',
      'run_step_started 2',
      'run_step_failed 2',
      'run_step_started 3',
      'run_step_completed 3',
    ]);
    expect(end.status === 'ENDED' && end.run.spent.input_tokens).toBeGreaterThanOrEqual(10);
  });

  test('waits for a person without a process, and continues with the decision', async () => {
    const harness = await openConfigured(open, true);
    const trace = newTrace();
    const newServices = () => servicesOf(harness, { ...SCRIPT, plan: HUMAN_PLAN }, { trace });
    const waiting = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    expect(waiting).toMatchObject({ status: 'WAITING', run: { status: 'WAITING', iterations: 2 } });
    const { reviews } = unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY));
    const { task_id, generation, iteration, candidate_sha256 } = reviews[0]!;
    const candidate = { task_id, generation, iteration, candidate_sha256 };
    const decision = { ...candidate, decision: 'CHANGES_REQUESTED', comment: 'say why' };
    unwrap(await harness.coordinator.decisions.recordReview(PROJECT_KEY, decision));
    const again = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    expect(again).toMatchObject({ status: 'WAITING', run: { iterations: 3 } });
    expect(trace.constructed).toEqual([1, 2, 3]);
    const second = unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY)).reviews[0]!;
    const approval = { ...candidate, iteration: second.iteration, candidate_sha256: second.candidate_sha256 };
    unwrap(
      await harness.coordinator.decisions.recordReview(PROJECT_KEY, { ...approval, decision: 'APPROVED' }),
    );
    const ended = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    expect(ended).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED' } });
    expect((await typesIn(harness)).filter((type) => type === 'edge_converged')).toHaveLength(1);
  });

  const firstReview = async ({ coordinator }: CoordinatorHarness) => {
    const { task_id, generation, iteration, candidate_sha256 } = unwrap(
      await coordinator.methodology.reviews(PROJECT_KEY),
    ).reviews[0]!;
    return { task_id, generation, iteration, candidate_sha256 };
  };

  test('leaves a candidate to the person who has requested changes, although its edge requires no person', async () => {
    const harness = await openConfigured(open);
    const plan = { ...PLAN, max_iterations: 1 };
    const run = (content: string) =>
      executeRun(
        REQUEST,
        servicesOf(harness, { ...SCRIPT, plan, candidate: () => content }),
        instantHost(),
        SIGNAL,
      );
    expect(await run('wrong')).toMatchObject({ run: { status: 'ESCALATED', reason: 'MAX_ITERATIONS' } });
    const { coordinator } = harness;
    const changes = { ...(await firstReview(harness)), decision: 'CHANGES_REQUESTED', comment: 'again' };
    unwrap(await coordinator.decisions.recordReview(PROJECT_KEY, changes));
    expect(await run('right')).toMatchObject({ run: { status: 'ESCALATED', reason: 'NOT_AUTHORISED' } });
    const approval = { ...(await firstReview(harness)), decision: 'APPROVED' };
    unwrap(await coordinator.decisions.recordReview(PROJECT_KEY, approval));
    expect((await typesIn(harness)).filter((type) => type === 'edge_converged')).toHaveLength(1);
  });

  test('repeats the comment of the person until the next decision, although a check fails meanwhile', async () => {
    const harness = await openConfigured(open, true);
    const prompts: string[] = [];
    const script = {
      ...SCRIPT,
      plan: HUMAN_PLAN,
      candidate: (n: number) => (n === 2 ? 'wrong' : `right ${n}`),
      passes: (_: unknown, content: string) => content !== 'wrong',
    };
    const run = () =>
      executeRun(
        REQUEST,
        servicesOf(harness, script, { trace: { ...newTrace(), prompts } }),
        instantHost(),
        SIGNAL,
      );
    const decide = async (decision: object) =>
      unwrap(
        await harness.coordinator.decisions.recordReview(PROJECT_KEY, {
          ...(await firstReview(harness)),
          ...decision,
        }),
      );
    await run();
    await decide({ decision: 'CHANGES_REQUESTED', comment: 'say why' });
    expect(await run()).toMatchObject({ status: 'WAITING', run: { iterations: 3 } });
    await decide({ decision: 'CHANGES_REQUESTED' });
    expect(await run()).toMatchObject({ status: 'WAITING', run: { iterations: 4 } });
    expect(prompts.map((prompt) => prompt.includes('say why'))).toEqual([false, true, true, false]);
  });

  test('shows the files of the last candidate of a run that ended at a limit', async () => {
    const harness = await openConfigured(open);
    const plan = { ...PLAN, max_iterations: 1 };
    const services = servicesOf(harness, { ...SCRIPT, plan, candidate: () => 'wrong' });
    const end = await executeRun(REQUEST, services, instantHost(), SIGNAL);
    expect(end).toMatchObject({ run: { status: 'ESCALATED', reason: 'MAX_ITERATIONS' } });
    const { reviews } = unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY));
    expect(reviews).toMatchObject([
      { work_product_ref: null, file_count: 1, files: [{ size_bytes: 'wrong'.length }] },
    ]);
  });

  test('begins another run after the hold on a rejected candidate was lifted, instead of asking for a review again', async () => {
    const harness = await openConfigured(open, true);
    const trace = newTrace();
    const plan = { ...HUMAN_PLAN, max_iterations: 1 };
    const script = { ...SCRIPT, plan, candidate: () => 'right' };
    const runAs = (agent_id: string) =>
      executeRun(REQUEST, servicesOf(harness, script, { trace, agent_id }), instantHost(), SIGNAL);
    expect(await runAs('first')).toMatchObject({ status: 'WAITING' });
    const rejection = { ...(await firstReview(harness)), decision: 'REJECTED', comment: 'not this' };
    unwrap(await harness.coordinator.decisions.recordReview(PROJECT_KEY, rejection));
    const operator = { expected_generation: 1, reason: 'try again' };
    unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, SUBJECT, 'unhold', operator));
    expect(await runAs('second')).toMatchObject({ status: 'WAITING', run: { generation: 2 } });
    expect(trace.constructed).toEqual([1, 1]);
    const [rejected, next] = foldRuns((await harness.events()).filter(({ subject }) => subject === SUBJECT));
    expect(rejected).toMatchObject({ status: 'ESCALATED', reason: 'REJECTED' });
    expect(next).toMatchObject({ status: 'WAITING', retry_of: rejected?.run_id });
  });

  test('follows a request for changes although another executor has taken over the edge', async () => {
    const harness = await openConfigured(open, true);
    unwrap(await harness.coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'takeover' }));
    const trace = newTrace();
    const script = {
      ...SCRIPT,
      plan: HUMAN_PLAN,
      candidate: (n: number) => `right ${n}`,
      passes: () => true,
    };
    const runAs = (agent_id: string) =>
      executeRun(REQUEST, servicesOf(harness, script, { trace, agent_id }), instantHost(), SIGNAL);
    expect(await runAs('first')).toMatchObject({ status: 'WAITING' });
    const changes = { ...(await firstReview(harness)), decision: 'CHANGES_REQUESTED', comment: 'say why' };
    unwrap(await harness.coordinator.decisions.recordReview(PROJECT_KEY, changes));
    harness.advance(100_000);
    expect(await runAs('second')).toMatchObject({ status: 'WAITING', run: { iterations: 2, generation: 2 } });
    expect(trace.constructed).toEqual([1, 2]);
  });

  const requestRun = async ({ coordinator }: CoordinatorHarness, overrides: object = {}): Promise<string> => {
    const body = { feature_id: FEATURE, edge: 'design_code', ...overrides };
    const reply = unwrap(await coordinator.runs.request(PROJECT_KEY, body));
    if (!reply.success || reply.reason === 'DRY_RUN') throw new Error(reply.reason);
    return reply.run.run_id;
  };

  test('continues the run that was requested, under its id', async () => {
    const harness = await openConfigured(open);
    const run_id = await requestRun(harness);
    const end = await executeRun(REQUEST, servicesOf(harness, SCRIPT), instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'ENDED', run: { run_id, status: 'CONVERGED', iterations: 2 } });
    expect(unwrap(await harness.coordinator.runs.list(PROJECT_KEY)).runs).toMatchObject([{ run_id }]);
  });

  test('is cancelled if the edge has converged before an executor started it', async () => {
    const harness = await openConfigured(open);
    const run_id = await requestRun(harness);
    const holder = { task_id: SUBJECT, agent_id: 'other', session_id: 's-other' };
    const reply = unwrap(
      await harness.coordinator.claims.claimTask(PROJECT_KEY, { ...holder, agent_role: 'full_stack' }),
    );
    if (!reply.success) throw new Error(reply.reason);
    const { generation, id: claim_id } = reply.claim;
    const handle = { task_id: SUBJECT, session_id: 's-other', generation, claim_id };
    const evaluators = withResultCounts([{ name: 'tests_pass', result: 'pass' }]);
    const result = { ...handle, result_data: 'right', evaluators };
    expect(unwrap(await harness.coordinator.holder.submitResult(PROJECT_KEY, result))).toMatchObject({
      accepted: true,
    });
    const end = await executeRun(REQUEST, servicesOf(harness, SCRIPT), instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'ENDED', run: { run_id, status: 'CANCELLED' } });
  });

  test('stops when it is cancelled, and none of its later steps is recorded', async () => {
    const harness = await openConfigured(open);
    const run_id = await requestRun(harness);
    const services = servicesOf(harness, SCRIPT);
    const cancellingServices: EngineServices = {
      ...services,
      async openConstructor(plan) {
        expect(unwrap(await harness.coordinator.runs.cancel(PROJECT_KEY, run_id, {})).success).toBe(true);
        return services.openConstructor(plan);
      },
    };
    const end = await executeRun(REQUEST, cancellingServices, instantHost(), SIGNAL);
    expect(end).toEqual({ status: 'CLAIM_LOST', run_id, says: 'The run was cancelled.' });
    const types = await typesIn(harness);
    expect(types.slice(types.indexOf('run_ended') + 1)).toEqual([]);
    expect(types).not.toContain('edge_converged');
  });

  test('releases the edge if the requested run is cancelled while an executor starts it', async () => {
    const harness = await openConfigured(open);
    const run_id = await requestRun(harness);
    const services = servicesOf(harness, SCRIPT);
    const cancelledServices: EngineServices = {
      ...services,
      async readPlan(...edge) {
        unwrap(await harness.coordinator.runs.cancel(PROJECT_KEY, run_id, {}));
        return services.readPlan(...edge);
      },
    };
    const end = await executeRun(REQUEST, cancelledServices, instantHost(), SIGNAL);
    expect(end).toEqual({ status: 'CLAIM_LOST', run_id, says: 'The run was cancelled.' });
    const next = await executeRun(REQUEST, servicesOf(harness, SCRIPT), instantHost(), SIGNAL);
    expect(next).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED', generation: 2 } });
  });

  test('has the findings of the run that it retries in its first prompt, and is not stuck because of them', async () => {
    const harness = await openConfigured(open);
    const neverPassing = { ...SCRIPT, candidate: () => 'wrong' };
    const first = await executeRun(REQUEST, servicesOf(harness, neverPassing), instantHost(), SIGNAL);
    if (first.status !== 'ENDED') throw new Error(first.status);
    const release = { expected_generation: 1, reason: 'try again' };
    unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, SUBJECT, 'force_release', release));
    const run_id = await requestRun(harness, { retry_of: first.run.run_id });
    const prompts: string[] = [];
    const services = servicesOf(harness, SCRIPT);
    const recordingServices: EngineServices = {
      ...services,
      openConstructor: async (plan) => {
        const construct = await services.openConstructor(plan);
        return (work) => {
          prompts.push(work.prompt);
          return construct(work);
        };
      },
    };
    const end = await executeRun(REQUEST, recordingServices, instantHost(), SIGNAL);
    expect(end).toMatchObject({ run: { run_id, retry_of: first.run.run_id, status: 'CONVERGED' } });
    expect(prompts[0]).toContain('fail: failed');
  });

  test('stores the prompt of each candidate under the digest that the step names', async () => {
    const harness = await openConfigured(open);
    await executeRun(REQUEST, servicesOf(harness, SCRIPT), instantHost(), SIGNAL);
    const steps = foldRuns(await harness.events()).flatMap((run) => run.steps);
    const digests = steps
      .filter(({ step }) => step === 'construct_candidate')
      .map(({ output }) => String(output?.prompt_sha256));
    const prompts = await Promise.all(
      digests.map((sha256) => harness.blobs.get(PROJECT_KEY.tenant_id, sha256)),
    );
    expect(prompts.map((bytes) => Buffer.from(bytes ?? []).includes(FEATURE))).toEqual([true, true]);
  });

  test('reports each step to its host', async () => {
    const harness = await openConfigured(open);
    const steps: string[] = [];
    const host: RunHost = {
      ...instantHost(),
      onStep: ({ check, iteration, result }) => {
        if (check !== null) steps.push(`${iteration} ${check} ${(result as { result: string }).result}`);
      },
    };
    await executeRun(REQUEST, servicesOf(harness, SCRIPT), host, SIGNAL);
    expect(steps).toEqual(['1 tests_pass fail', '2 tests_pass pass']);
  });

  test('reports to its host which states an earlier execution has completed', async () => {
    const harness = await openConfigured(open, true);
    const execute = async (): Promise<string[]> => {
      const states: string[] = [];
      const onState = (state: string, isReplayed: boolean) => states.push(isReplayed ? `(${state})` : state);
      const services = servicesOf(harness, { ...SCRIPT, plan: HUMAN_PLAN });
      await executeRun(REQUEST, services, { ...instantHost(), onState }, SIGNAL);
      return states.filter((state) => /ConstructCandidate|Promote/.test(state));
    };
    expect(await execute()).toEqual(['ConstructCandidate', 'ConstructCandidate']);
    const approval = { ...(await firstReview(harness)), decision: 'APPROVED' };
    unwrap(await harness.coordinator.decisions.recordReview(PROJECT_KEY, approval));
    expect(await execute()).toEqual(['(ConstructCandidate)', '(ConstructCandidate)', 'Promote']);
  });

  test('keeps waiting before the deadline, however often it is run', async () => {
    const harness = await openConfigured(open, true);
    const newServices = () => servicesOf(harness, { ...SCRIPT, plan: HUMAN_PLAN });
    const first = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    const typesBefore = await typesIn(harness);
    harness.advance(3600);
    const again = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    expect([first.status, again.status]).toEqual(['WAITING', 'WAITING']);
    expect(again).toMatchObject({ run: { status: 'WAITING' } });
    expect(await typesIn(harness)).toEqual(typesBefore);
  });

  test.each(['hold', 'takeover'])(
    'ends without an answer when it is run after the deadline, and the review can still be decided (%s)',
    async (stale_policy) => {
      const harness = await openConfigured(open, true);
      unwrap(await harness.coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy }));
      const trace = newTrace();
      const newServices = () => servicesOf(harness, { ...SCRIPT, plan: HUMAN_PLAN }, { trace });
      const first = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
      expect(first.status).toBe('WAITING');
      harness.advance(14 * 24 * 3600);
      const ended = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
      expect(ended).toMatchObject({ status: 'ENDED', run: { status: 'ESCALATED', reason: 'NO_ANSWER' } });
      expect(trace.constructed).toEqual([1, 2]);
      const { reviews } = unwrap(await harness.coordinator.methodology.reviews(PROJECT_KEY));
      const { task_id, generation, iteration, candidate_sha256 } = reviews[0]!;
      const decision = { task_id, generation, iteration, candidate_sha256, decision: 'APPROVED' };
      expect(await harness.coordinator.decisions.recordReview(PROJECT_KEY, decision)).toMatchObject({
        reason: 'APPROVED',
      });
    },
  );

  test('is refused while another agent holds the edge', async () => {
    const harness = await openConfigured(open);
    const other = { task_id: SUBJECT, agent_id: 'other', session_id: 's-other', agent_role: 'full_stack' };
    unwrap(await harness.coordinator.claims.claimTask(PROJECT_KEY, other));
    const end = await executeRun(REQUEST, servicesOf(harness, SCRIPT), instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'REFUSED', refusal: { reason: 'DENIED_ACTIVE_CLAIM' } });
  });

  // req: WSP-010
  test('records nothing more when another executor takes over the edge and continues from the last step', async () => {
    const harness = await openConfigured(open);
    unwrap(await harness.coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: 'takeover' }));
    const first = servicesOf(harness, SCRIPT);
    const trace = newTrace();
    let endOfSecond: RunEnd | null = null;
    const takeOver = async (): Promise<void> => {
      harness.advance(100_000);
      const second = servicesOf(harness, SCRIPT, { agent_id: 'engine-2', trace });
      endOfSecond = await executeRun(REQUEST, second, instantHost(), SIGNAL);
    };
    const interruptedServices: EngineServices = {
      ...first,
      runCheck: async (run) => {
        if (endOfSecond === null) await takeOver();
        return first.runCheck(run);
      },
    };
    const endOfFirst = await executeRun(REQUEST, interruptedServices, instantHost(), SIGNAL);
    expect(endOfFirst).toMatchObject({ status: 'CLAIM_LOST' });
    expect(endOfSecond).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED', generation: 2 } });
    expect(trace.constructed).toEqual([2]);
    expect(foldRuns(await harness.events())).toHaveLength(1);
  });

  /** Services that lose the first replies which confirm a constructed candidate. */
  const withLostReplies = (services: EngineServices, lossCount: number): EngineServices => {
    const { coordination } = services;
    let lossesLeft = lossCount;
    const appendEvent: EdgeCoordination['appendEvent'] = async (body) => {
      const reply = await coordination.appendEvent(body);
      const isMade = body.event_type === 'run_step_completed' && body.payload.step === 'construct_candidate';
      if (!isMade || lossesLeft === 0) return reply;
      lossesLeft -= 1;
      return { code: 'TIMEOUT', detail: 'There was no reply.' };
    };
    return { ...services, coordination: { ...coordination, appendEvent } };
  };

  test('does not repeat a step whose end was recorded without a reply', async () => {
    const harness = await openConfigured(open);
    const trace = newTrace();
    const services = withLostReplies(servicesOf(harness, SCRIPT, { trace }), 3);
    const end = await executeRun(REQUEST, services, instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED' } });
    expect(trace.constructed).toEqual([1, 2]);
    expect(await typesIn(harness)).not.toContain('run_step_failed');
  });

  test('completes a step once although the request of a dead process arrives late', async () => {
    const harness = await openConfigured(open);
    const services = servicesOf(harness, SCRIPT);
    const { appendEvent } = services.coordination;
    const isMade: (body: AppendBody) => boolean = ({ event_type, payload }) =>
      event_type === 'run_step_completed' &&
      payload.step === 'construct_candidate' &&
      payload.iteration === 1;
    const delayed: AppendBody[] = [];
    const dying: EdgeCoordination['appendEvent'] = (body) => {
      if (delayed.length === 0 && !isMade(body)) return appendEvent(body);
      delayed.push(body);
      throw new Error('killed');
    };
    const dyingServices = { ...services, coordination: { ...services.coordination, appendEvent: dying } };
    await expect(executeRun(REQUEST, dyingServices, instantHost(), SIGNAL)).rejects.toThrow('killed');
    const arriving: EdgeCoordination['appendEvent'] = async (body) => {
      const [late] = isMade(body) ? delayed.splice(0) : [];
      if (late !== undefined) expect(await appendEvent(late)).toMatchObject({ success: true });
      return appendEvent(body);
    };
    const next = { ...services, coordination: { ...services.coordination, appendEvent: arriving } };
    const end = await executeRun(REQUEST, next, instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'ENDED', run: { status: 'CONVERGED' } });
    const made = (await harness.events()).filter(isMade);
    expect(made.map(({ payload }) => payload.attempt)).toEqual([1]);
  });

  test('still waits when it is run again before there is a decision', async () => {
    const harness = await openConfigured(open, true);
    const newServices = () => servicesOf(harness, { ...SCRIPT, plan: HUMAN_PLAN });
    await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    harness.advance(1000);
    const again = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    expect(again).toMatchObject({ status: 'WAITING', run: { status: 'WAITING', iterations: 2 } });
  });

  test('is not ended by a hold that no rejected candidate has caused', async () => {
    const harness = await openConfigured(open, true);
    const newServices = () => servicesOf(harness, { ...SCRIPT, plan: HUMAN_PLAN });
    await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    const operator = { expected_generation: 1, reason: 'wait for the audit' };
    unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, SUBJECT, 'force_release', operator));
    unwrap(await harness.coordinator.decisions.operate(PROJECT_KEY, SUBJECT, 'hold', operator));
    const end = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
    expect(end).toMatchObject({ status: 'REFUSED', refusal: { reason: 'DENIED_HELD' } });
    expect(foldRuns(await harness.events())[0]?.ended_at).toBeNull();
  });

  describe('killed at every event it appends, and run again', () => {
    /** The process of the executor has died, before or after an event was appended to the log. */
    class Killed extends Error {}
    const killedAt = (services: EngineServices, at: number, isAfter: boolean): EngineServices => {
      let appended = 0;
      const dying =
        <Body, Reply>(call: (body: Body) => Promise<Reply>) =>
        async (body: Body): Promise<Reply> => {
          appended += 1;
          if (appended < at) return call(body);
          if (appended === at && isAfter) await call(body);
          throw new Killed();
        };
      const { coordination } = services;
      const dead: EdgeCoordination = {
        ...coordination,
        appendEvent: dying(coordination.appendEvent),
        submitResult: dying(coordination.submitResult),
      };
      return { ...services, coordination: dead };
    };

    test.each([false, true])(
      'has the same result, and each completed step once (after the write: %s)',
      async (isAfter) => {
        for (let at = 1; ; at += 1) {
          const harness = await openConfigured(open);
          const trace = newTrace();
          const newServices = () => servicesOf(harness, SCRIPT, { trace });
          const first = await executeRun(
            REQUEST,
            killedAt(newServices(), at, isAfter),
            instantHost(),
            SIGNAL,
          ).catch((error) => (error instanceof Killed ? null : Promise.reject(error)));
          if (first?.status === 'ENDED' && first.run.status === 'CONVERGED') break;
          const end = await executeRun(REQUEST, newServices(), instantHost(), SIGNAL);
          const events = await harness.events();
          const converged = events.filter(({ event_type }) => event_type === 'edge_converged');
          expect(converged, `killed at ${at}`).toHaveLength(1);
          expect(converged[0]?.payload.result_data, `killed at ${at}`).toMatchObject({
            total_bytes: 'right'.length,
          });
          if (end.status === 'ENDED') expect(end.run.status).toBe('CONVERGED');
          const completed = events
            .filter(({ event_type }) => event_type === 'run_step_completed')
            .map(({ payload }) => `${payload.run_id} ${payload.step} ${payload.iteration}`);
          expect(new Set(completed).size, `killed at ${at}: ${completed.join()}`).toBe(completed.length);
          expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
        }
      },
    );
  });
});
