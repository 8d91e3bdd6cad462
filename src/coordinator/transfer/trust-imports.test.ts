import { describe, expect, test } from 'vitest';
import {
  type CoordinatorHarness,
  forEachStore,
  PROJECT_KEY,
  STORES,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import {
  F,
  foreignLine,
  importLines,
  openImported,
  PROJECT_FILES,
} from '../../../test/support/imported-project.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import type { AnyHead } from '../../core/fold.js';
import { OPEN_CALLER } from '../authentication/caller.js';
import { SKIPPED_MAX, TRUSTED_MAX } from './trust-imports.js';

const FIRST = `${F}#intent_requirements`;
const SECOND = `${F}#design_code`;
const AGENT = { agent_id: 'ada', session_id: 's-ada' } as const;
const REASON = { reason: 'the old tool checked it' };
const ADMIN = { ...OPEN_CALLER, principal: 'key-1', user_id: 'hana' };
const LOG = [
  foreignLine('edge_started', 'intent→requirements'),
  foreignLine('convergence_achieved', 'intent→requirements'),
];

const trust = async ({ coordinator }: CoordinatorHarness, body: object = REASON) =>
  unwrap(await coordinator.imports.trustImports(PROJECT_KEY, body, ADMIN));
const claim = async ({ coordinator }: CoordinatorHarness, task_id: string) =>
  unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id, ...AGENT }));

/** Replays the log and expects no rule violation, and exactly the heads that the store has. */
async function expectSound(harness: CoordinatorHarness): Promise<void> {
  const checker = new PolicyAwareLogChecker();
  for (const event of await harness.events()) expect(checker.checkEvent(event)).toEqual([]);
  const subjects = new Set(
    (await harness.events()).flatMap(({ subject, seq }) => (seq === undefined ? [] : [subject!])),
  );
  const heads = await harness.store.heads(PROJECT_KEY, [...subjects]);
  expect(checker.checkHeads(heads as AnyHead[])).toEqual([]);
}

describe.each(STORES)('a trusted import (%s store)', (store) => {
  test('leaves an edge that is on hold, until the hold is lifted', async () => {
    const harness = await openImported(LOG, store);
    const hold = { expected_generation: 0, reason: 'the old tool is in doubt' };
    await harness.coordinator.decisions.operate(PROJECT_KEY, FIRST, 'hold', hold);
    for (const body of [{ ...REASON, dry_run: true }, REASON]) {
      const { trusted, skipped } = await trust(harness, body);
      expect(trusted).toEqual([]);
      expect(skipped).toEqual([
        {
          task_id: FIRST,
          reason: 'DENIED_HELD',
          next: `${FIRST} is on hold: the old tool is in doubt. Lift the hold, then trust imports again: gen task unhold ${FIRST} --reason TEXT`,
        },
      ]);
    }
    await harness.coordinator.decisions.operate(PROJECT_KEY, FIRST, 'unhold', {
      expected_generation: 0,
      reason: 'checked',
    });
    expect(await trust(harness)).toMatchObject({ trusted: [{ task_id: FIRST, generation: 1 }] });
    await expectSound(harness);
  });

  test('completes the edge under a new generation, and names the imported event', async () => {
    const harness = await openImported(LOG, store);
    expect(await trust(harness)).toEqual({
      trusted: [{ task_id: FIRST, generation: 1 }],
      skipped: [],
      skipped_count: 0,
      more: false,
    });
    expect(await claim(harness, FIRST)).toMatchObject({ reason: 'DENIED_COMPLETED' });
    const imported = (await harness.events()).find(({ event_type }) => event_type === 'convergence_achieved');
    const { event_id, position } = imported!;
    const lineage = unwrap(await harness.coordinator.queries.getClaimHistory(PROJECT_KEY, FIRST));
    expect(lineage.generations).toMatchObject([
      {
        generation: 1,
        agent_id: 'hana',
        result_accepted: true,
        adopted_from: { imported: true, event_id, position, agent_id: 'primary', source: 'old.jsonl' },
      },
    ]);
    await expectSound(harness);
  });
});

test('start, next and dependent edges count a trusted edge as converged', async () => {
  const harness = await openImported(LOG);
  const before = unwrap(
    await harness.coordinator.claims.claimTask(PROJECT_KEY, { task_id: SECOND, ...AGENT }),
  );
  expect(JSON.stringify(before)).toContain('builds on intent_requirements');
  const other = await openImported(LOG);
  await trust(other);
  const { coordinator } = other;
  expect(unwrap(await coordinator.methodology.start(PROJECT_KEY, { agent_id: 'ada' }))).toMatchObject({
    feature: F,
    edge: 'design_code',
  });
  const next = unwrap(await coordinator.claims.next(PROJECT_KEY, { ...AGENT, kinds: ['edge'] }));
  expect(next).toMatchObject({ reason: 'GRANTED', claim: { task_id: SECOND } });
  expect(JSON.stringify(next)).not.toContain('builds on');
  const { features } = unwrap(await coordinator.methodology.status(PROJECT_KEY));
  expect(features).toMatchObject([{ id: F, edges_converged: 1, edges_total: 2 }]);
});

test('a reset reopens a trusted edge, and an import does not decide it again', async () => {
  const harness = await openImported(LOG);
  await trust(harness);
  const reset = { expected_generation: 1, reason: 'it was wrong' };
  expect(await harness.coordinator.decisions.operate(PROJECT_KEY, FIRST, 'reset', reset)).toMatchObject({
    reason: 'RESET',
  });
  expect(await trust(harness)).toMatchObject({ trusted: [], skipped: [], more: false });
  // Another log that reports the same convergence changes nothing either: the edge has been claimed here.
  await importLines(harness.store, [foreignLine('edge_converged', 'intent→requirements')], 'other.jsonl');
  expect(await trust(harness)).toMatchObject({
    trusted: [],
    skipped: [
      { task_id: FIRST, reason: 'GENERATION_MISMATCH', next: expect.stringContaining('generation 1') },
    ],
  });
  expect(await claim(harness, FIRST)).toMatchObject({ reason: 'GRANTED', claim: { generation: 2 } });
  await expectSound(harness);
});

test('a second call trusts nothing new, and a repeated request gets the same reply', async () => {
  const harness = await openImported(LOG);
  const request = { ...REASON, request_id: 'r-1' };
  const first = await trust(harness, request);
  const position = await harness.position();
  expect(await trust(harness, request)).toEqual(first);
  expect(await trust(harness)).toEqual({ trusted: [], skipped: [], skipped_count: 0, more: false });
  expect(await harness.position()).toBe(position);
});

test('a dry run changes nothing', async () => {
  const harness = await openImported(LOG);
  const position = await harness.position();
  const reply = await trust(harness, { ...REASON, dry_run: true });
  expect(reply.trusted).toEqual([{ task_id: FIRST, generation: 1 }]);
  expect(await harness.position()).toBe(position);
});

forEachStore('a trusted import', (_open, store) => {
  test('of two calls and a claim at the same moment, exactly one wins the edge', async () => {
    const harness = await openImported(LOG, store);
    const other = store === 'memory' ? await harness.openAnother() : harness.coordinator;
    const [one, two, claimed] = await Promise.all([
      trust(harness),
      other.imports.trustImports(PROJECT_KEY, REASON, ADMIN).then(unwrap),
      claim(harness, FIRST),
    ]);
    const winners = [one.trusted.length, two.trusted.length, claimed.reason === 'GRANTED' ? 1 : 0];
    expect(winners.reduce((sum, each) => sum + each, 0)).toBe(1);
    const types = await harness.eventTypesOf(FIRST);
    expect(types.filter((type) => type === 'edge_started')).toHaveLength(1);
    await expectSound(harness);
  });

  test('leaves an edge to the agent that claimed it before', async () => {
    const harness = await openImported(LOG, store);
    await claim(harness, FIRST);
    await importLines(harness.store, [foreignLine('edge_converged', 'intent→requirements')], 'other.jsonl');
    expect(await trust(harness)).toMatchObject({
      trusted: [],
      skipped: [{ task_id: FIRST, reason: 'GENERATION_MISMATCH' }],
      skipped_count: 1,
    });
  });
});

describe('a forged log', () => {
  const convergedLine = (edge: string, feature?: string) => foreignLine('edge_converged', edge, feature);

  test('completes only edges that are part of the project’s methodology', async () => {
    const harness = await openImported([
      convergedLine('intent→requirements'),
      convergedLine('moon→sun'),
      convergedLine('code→cicd'),
      convergedLine('design→code', 'REQ-F-FORGED-001'),
      JSON.stringify({
        event_type: 'edge_converged',
        timestamp: '2025-12-01T10:00:00Z',
        data: { feature: '~plan', edge: 'design→code' },
      }),
    ]);
    const { trusted, skipped, skipped_count } = await trust(harness);
    expect(trusted).toEqual([{ task_id: FIRST, generation: 1 }]);
    expect(skipped_count).toBe(4);
    expect(skipped).toEqual(
      [
        [`${F}#moon_sun`, 'has no edge moon_sun'],
        [`${F}#code_cicd`, `The profile minimal of ${F} excludes code_cicd`],
        ['REQ-F-FORGED-001#design_code', 'There is no feature REQ-F-FORGED-001'],
        ['~plan#design_code', 'is not an edge of a feature'],
      ].map(([task_id, next]) => ({ task_id, reason: 'UNKNOWN_TASK', next: expect.stringContaining(next!) })),
    );
    expect((await harness.events()).filter(({ event_type }) => event_type === 'result_adopted')).toHaveLength(
      1,
    );
    await expectSound(harness);
  });

  test('completes nothing in a project without a methodology', async () => {
    const harness = await openImported(LOG);
    const empty = { ...PROJECT_KEY, project_id: 'empty' };
    const event = (await harness.events()).find(({ event_type }) => event_type === 'convergence_achieved')!;
    const { tenant_id: _, project_id: __, position: ___, ...fields } = event;
    unwrap(await harness.coordinator.imports.importEvents(empty, { events: [fields] }));
    expect(await harness.coordinator.imports.trustImports(empty, REASON)).toMatchObject({
      trusted: [],
      skipped: [{ task_id: FIRST, reason: 'NOT_INITIALISED', next: expect.stringContaining('gen init') }],
    });
  });

  test('gets a bounded reply, and the next call handles the edges beyond the bound', async () => {
    const features = Array.from({ length: TRUSTED_MAX + 1 }, (_, at) => `REQ-F-MANY-${1000 + at}`);
    const harness = await openImported([
      ...features.map((feature) => convergedLine('design→code', feature)),
      ...Array.from({ length: SKIPPED_MAX + 1 }, (_, at) =>
        convergedLine('design→code', `REQ-F-FORGED-${at}`),
      ),
    ]);
    const vectors = features.map((feature) => [
      `features/active/${feature}.yml`,
      `feature: ${feature}\ntitle: one of many\nprofile: minimal\n`,
    ]);
    const files = { ...PROJECT_FILES, ...Object.fromEntries(vectors) };
    unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
    const first = await trust(harness);
    expect(first).toMatchObject({ more: true, skipped_count: SKIPPED_MAX + 1 });
    expect([first.trusted.length, first.skipped.length]).toEqual([TRUSTED_MAX, SKIPPED_MAX]);
    const second = await trust(harness);
    expect([second.trusted.length, second.more]).toEqual([1, false]);
  });
});
