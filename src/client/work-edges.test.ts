import { expect, test } from 'vitest';
import { coordinationConfig } from '../../test/support/workspace-files.js';
import type { Genesis } from './genesis.js';
import { expectNoProblem, openClientHarness, planTextOf } from './testing/client-harness.js';
import type { EdgeResult, EndedWork, Work } from './work-options.js';

const FEATURE = 'REQ-F-AUTH-001';
const FIRST_EDGE = `${FEATURE}#intent_requirements`;
const SECOND_EDGE = `${FEATURE}#design_code`;
const AGENT = { agent_id: 'agent-a', agent_role: 'full_stack' };
const EDGE_OPTIONS = { ...AGENT, kinds: ['edge'] } as const;

const checklistFile = (edge: string, ...checks: string[]): string =>
  `edge: "${edge}"\nchecklist:\n${checks.map((check) => `  - {${check}, required: true}\n`).join('')}`;
const AGENT_CHECK = 'name: reads_well, type: agent, criterion: "A stranger can read it"';

const VECTOR_FILE = `features/active/${FEATURE}.yml`;
const FEATURE_FILE = `feature: ${FEATURE}\ntitle: Sign in\nprofile: minimal\nstatus: pending\ntrajectory: {}\n`;
const WITH_HUMAN_CHECK = {
  [VECTOR_FILE]: `${FEATURE_FILE}constraints:
  acceptance_criteria:
    - {id: wanted, evaluator: human, description: "It is what we want", required: true}
`,
};

const FILES = {
  [VECTOR_FILE]: FEATURE_FILE,
  '../specification/INTENT.md': '# Sign in\n\nPeople sign in with a key.\n',
  'graph/edges/intent_requirements.yml': checklistFile('intent→requirements', AGENT_CHECK),
  'graph/edges/design_code.yml': checklistFile('design→code', AGENT_CHECK),
  'context/project_constraints.yml': `constraint_dimensions:
  ecosystem_compatibility: node
  deployment_target: cloud
  security_model: keys
  build_system: npm
`,
  'coordination.yml': coordinationConfig({}),
};

/** A server with a plan of one task and a feature of two edges. */
async function openWithFeature(changes: Readonly<Record<string, string>> = {}) {
  const harness = await openClientHarness(planTextOf({ A: 1 }));
  expectNoProblem(await harness.direct.methodology.init({ files: { ...FILES, ...changes } }));
  return harness;
}

/** A result with a pass for each check that an agent reports. */
function passedResult({ briefing }: Work, result: unknown): EdgeResult {
  const reportedChecks = (briefing?.checks ?? []).filter(({ type }) => type !== 'human');
  return { result, evaluators: reportedChecks.map(({ name }) => ({ name, result: 'pass' })) };
}

const resultsOf = async (genesis: Genesis, taskId: string) =>
  expectNoProblem(await genesis.results(taskId)).results.map(({ result_data }) => result_data);

test('works on edges, whose results carry the results of their checks, until all work of both kinds is done', async () => {
  const { genesis, direct } = await openWithFeature();
  const workedOn: string[] = [];
  const summary = await genesis.work({ ...AGENT, kinds: ['task', 'edge'] }, async (work) => {
    workedOn.push(work.task_id);
    return passedResult(work, { made: work.task_id });
  });
  expect(workedOn.sort()).toEqual(['A-001-part', SECOND_EDGE, FIRST_EDGE].sort());
  expect(summary).toMatchObject({ accepted: 3, refused: 0, escalated: 0, failed: 0, is_done: true });
  expect(await resultsOf(direct, FIRST_EDGE)).toEqual([{ made: FIRST_EDGE }]);
  // The result of a task is what was returned, whatever its keys.
  expect(await resultsOf(direct, 'A-001-part')).toEqual([{ result: { made: 'A-001-part' }, evaluators: [] }]);
  const { events } = expectNoProblem(await direct.events({ type: 'edge_converged' }));
  expect(events.map(({ payload }) => payload.evaluators)).toEqual([
    expect.objectContaining({ passed: 1, total: 1 }),
    expect.objectContaining({ passed: 1, total: 1 }),
  ]);
});

test('requests only tasks if `kinds` is omitted', async () => {
  const { genesis } = await openWithFeature();
  const summary = await genesis.work(AGENT, async ({ task_id }) => task_id);
  expect(summary).toMatchObject({ accepted: 1, is_done: true, outcomes: [{ task_id: 'A-001-part' }] });
});

test('releases an edge whose checks have not passed, and the next holder learns which checks', async () => {
  const { genesis } = await openWithFeature();
  const ended: EndedWork[] = [];
  const first = await genesis.work(
    { ...EDGE_OPTIONS, onEnded: (end) => void ended.push(end) },
    async (_, { stop }) => {
      stop();
      return { result: 'a draft', evaluators: [{ name: 'reads_well', result: 'fail' }] };
    },
  );
  expect(first).toMatchObject({ accepted: 0, refused: 1, failed: 0 });
  expect(ended).toMatchObject([
    { outcome: 'refused', message: expect.stringMatching(/^NOT_CONVERGED: reads_well: /) },
  ]);
  let predecessors: unknown;
  const second = await genesis.work({ ...EDGE_OPTIONS, agent_id: 'agent-b' }, async (work, { stop }) => {
    predecessors = work.briefing?.predecessors;
    stop();
    return passedResult(work, 'better');
  });
  expect(second).toMatchObject({ accepted: 1, outcomes: [{ task_id: FIRST_EDGE, generation: 2 }] });
  expect(predecessors).toMatchObject([
    { generation: 1, outcome: 'ERROR', message: expect.stringContaining('NOT_CONVERGED): reads_well: ') },
  ]);
});

test('releases work whose result is refused as too large, or because the request is not valid', async () => {
  const { client, direct } = await openWithFeature();
  const invalidResult = async () => ({ result: 1, evaluators: [{ name: 'reads_well', result: 'fine' }] });
  const summary = await client().work(EDGE_OPTIONS, async (_, { stop }) => {
    stop();
    return invalidResult();
  });
  expect(summary).toMatchObject({ refused: 1, outcomes: [{ reason: 'INVALID_REQUEST' }] });
  expectNoProblem(await direct.putLimits({ max_result_size_bytes: 1024 }));
  const largeSummary = await client().work(AGENT, async (_, { stop }) => {
    stop();
    return 'x'.repeat(2048);
  });
  expect(largeSummary).toMatchObject({ refused: 1, outcomes: [{ reason: 'RESULT_TOO_LARGE' }] });
  expect(expectNoProblem(await direct.status()).claims).toEqual([]);
  for (const subject of [FIRST_EDGE, 'A-001-part'])
    expect(expectNoProblem(await direct.history(subject)).generations).toMatchObject([
      { release_reason: 'ERROR' },
    ]);
});

test('fails the work if evaluators is not a list', async () => {
  const { genesis } = await openWithFeature();
  const ended: EndedWork[] = [];
  await genesis.work({ ...EDGE_OPTIONS, onEnded: (end) => void ended.push(end) }, async (_, { stop }) => {
    stop();
    return { result: 1, evaluators: { reads_well: 'pass' } };
  });
  expect(ended).toMatchObject([
    { outcome: 'failed', message: expect.stringContaining('`evaluators` is not a list') },
  ]);
});

/** Decides on the only result that waits for a person. */
async function decide(genesis: Genesis, decision: 'approved' | 'refined', comment?: string) {
  const [waiting] = expectNoProblem(await genesis.methodology.reviews()).reviews;
  if (waiting === undefined) throw new Error('nothing waits for a person');
  const { task_id, generation, iteration, candidate_sha256 } = waiting;
  const reviewed = { task_id, generation, iteration, candidate_sha256 };
  const reply = await genesis.methodology.review({
    ...reviewed,
    decision,
    ...(comment === undefined ? {} : { comment }),
  });
  expect(expectNoProblem(reply).success).toBe(true);
}

test('works on an edge again when a person requests changes, and ends after the person has approved', async () => {
  const { genesis, direct } = await openWithFeature(WITH_HUMAN_CHECK);
  const ended: EndedWork[] = [];
  const workedOn: unknown[] = [];
  const onEnded = async (end: EndedWork) => {
    ended.push(end);
    if (end.outcome !== 'escalated') return;
    if (ended.length === 1) await decide(direct, 'refined', 'name the key');
    else await decide(direct, 'approved');
  };
  const summary = await genesis.work({ ...EDGE_OPTIONS, onEnded }, async (work) => {
    workedOn.push([work.task_id, work.claim.generation, work.briefing?.review?.comment]);
    return passedResult(work, `draft ${workedOn.length}`);
  });
  expect(workedOn).toEqual([
    [FIRST_EDGE, 1, undefined],
    [FIRST_EDGE, 1, 'name the key'],
    [SECOND_EDGE, 1, undefined],
  ]);
  expect(ended.map(({ outcome }) => outcome)).toEqual(['escalated', 'escalated', 'escalated']);
  expect(ended[0]?.message).toContain('gen review');
  expect(summary).toMatchObject({ accepted: 0, escalated: 3, refused: 0, lost: 0, is_done: true });
  expect(await resultsOf(direct, FIRST_EDGE)).toContain('draft 2');
});

test('keeps its session open while a result waits for a person', async () => {
  const { genesis, direct } = await openWithFeature(WITH_HUMAN_CHECK);
  const summary = await genesis.work({ ...EDGE_OPTIONS, until: 'idle' }, async (work) =>
    passedResult(work, 'a draft'),
  );
  expect(summary).toMatchObject({ escalated: 1, is_done: false });
  await decide(direct, 'approved');
  expect(expectNoProblem(await direct.task(FIRST_EDGE))).toMatchObject({ phase: 'COMPLETED' });
});

test('holds an edge without a lease in single-agent mode', async () => {
  const { genesis } = await openWithFeature({ 'coordination.yml': coordinationConfig({ mode: 'single' }) });
  const workedOn: unknown[] = [];
  const summary = await genesis.work({ kinds: ['edge'], agent_id: 'primary' }, async (work, context) => {
    const { lease_duration_seconds, expires_at } = work.claim;
    workedOn.push({
      lease_duration_seconds,
      expires_at,
      held: context.held(),
      aborted: context.signal.aborted,
    });
    return passedResult(work, 'done');
  });
  const unlimited = { lease_duration_seconds: null, expires_at: null, held: true, aborted: false };
  expect(workedOn).toEqual([unlimited, unlimited]);
  expect(summary).toMatchObject({ accepted: 2, lost: 0, is_done: true });
});

test('submits the results of checks with a result that an earlier run left in the outbox', async () => {
  const { client, direct, proxy } = await openWithFeature();
  const first = client({ retry: { tries: 1 } });
  proxy.actionFor = (request) => (request.includes('/results') ? 'lose_request' : 'pass');
  const stopController = new AbortController();
  const interrupted = await first.work({ ...EDGE_OPTIONS, signal: stopController.signal }, async (work) => {
    stopController.abort();
    return passedResult(work, 'finished before the crash');
  });
  expect(interrupted).toMatchObject({ accepted: 0, pending: 1 });
  proxy.actionFor = () => 'pass';
  expect(await client().flushOutbox()).toMatchObject([{ task_id: FIRST_EDGE, accepted: true }]);
  expect(await resultsOf(direct, FIRST_EDGE)).toEqual(['finished before the crash']);
});

test('another worker works on an edge again when the one that escalated it has ended', async () => {
  const { client, direct } = await openWithFeature(WITH_HUMAN_CHECK);
  const first = await client().work({ ...EDGE_OPTIONS, until: 'idle' }, async (work) =>
    passedResult(work, 'draft 1'),
  );
  expect(first).toMatchObject({ escalated: 1, is_done: false });
  const workedOn: unknown[] = [];
  const recordAndWork = async (work: Work) => {
    const { session_id, agent_id, generation } = work.claim;
    workedOn.push([work.task_id, session_id, agent_id, generation, work.briefing?.review?.comment]);
    return passedResult(work, 'draft 2');
  };
  const other = { ...EDGE_OPTIONS, agent_id: 'agent-b', until: 'idle' } as const;
  // The edge still waits for a person, so this worker leaves it to the next worker.
  expect(await client().work(other, recordAndWork)).toMatchObject({ escalated: 0, is_done: false });
  await decide(direct, 'refined', 'name the key');
  expect(await client().work({ ...other, agent_role: 'reviewer' }, recordAndWork)).toMatchObject({
    escalated: 0,
  });
  expect(await client().work({ ...other, kinds: ['task'] }, async () => 'a task')).toMatchObject({
    accepted: 1,
  });
  expect(workedOn).toEqual([]);
  // Only one of several workers works on the edge.
  const summaries = await Promise.all([
    client().work(other, recordAndWork),
    client().work(other, recordAndWork),
  ]);
  expect(summaries.map(({ escalated }) => escalated).sort()).toEqual([0, 1]);
  const session = first.outcomes[0]?.session_id;
  expect(workedOn).toEqual([[FIRST_EDGE, session, 'agent-a', 1, 'name the key']]);
  await decide(direct, 'approved');
  expect(expectNoProblem(await direct.task(FIRST_EDGE))).toMatchObject({ phase: 'COMPLETED' });
  expect(await resultsOf(direct, FIRST_EDGE)).toContain('draft 2');
});
