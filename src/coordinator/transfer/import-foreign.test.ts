import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  STORES,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { PolicyAwareLogChecker } from '../../core/claims/policy-aware-log-checker.js';
import { importedEventFault } from '../../core/events/imported-event.js';
import { foreignLogArbitrary } from '../../core/events/testing/foreign-log-arbitrary.js';
import { evolveMethodology } from '../../core/methodology/progress/evolve.js';
import { emptyMethodologyState } from '../../core/methodology/progress/feature-state.js';
import {
  agentViews,
  emptySession,
  evolveSession,
  foldProject,
  lineageOf,
  resultsOf,
} from '../../core/views/index.js';
import { TRANSACTION_SIZE_MAX } from '../../stores/store.js';
import { exportProject } from './export-project.js';
import { type ForeignTarget, importForeign as importForeignLog } from './import-foreign.js';
import { importProject } from './import-project.js';
import { commitImported } from './imported-events.js';

const importForeign = async (...request: Parameters<typeof importForeignLog>) =>
  unwrap(await importForeignLog(...request));

const EDGES = new Set(['code_unit_tests', 'design_code']);
const importOptions = {
  ...PROJECT_KEY,
  source: 'old.jsonl',
  now_ms: Date.parse('2026-01-04T06:00:00Z'),
  known_edges: EDGES,
};
const intoStore = ({ store, blobs }: CoordinatorHarness): ForeignTarget => ({
  put: async (events) => unwrap(await commitImported(store, PROJECT_KEY, events, true)),
  putBlob: (sha256, bytes) => blobs.put(PROJECT_KEY.tenant_id, sha256, bytes),
});

/** Chunks that end anywhere, independent of line ends. */
async function* bytesOf(text: string | Uint8Array, piece = 1000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
}

const flatLine = (fields: object) => JSON.stringify({ timestamp: '2025-12-01T10:00:00+11:00', ...fields });
const OLD = [
  flatLine({ event_type: 'project_initialized', project: 'shop' }),
  flatLine({ event_type: 'edge_started', project: 'shop-of-old', feature: 'REQ-F-1', edge: 'design→code' }),
  '',
  flatLine({ event_type: 'edge_started', project: 'shop-of-old', feature: 'REQ-F-1', edge: 'closure' }),
  flatLine({
    event_type: 'edge_converged',
    feature: 'REQ-F-1',
    edge: 'design->code',
    note: 'n'.repeat(14_000),
  }),
  'this is no line of a log',
  flatLine({ event_type: 'brand_new', feature: 'REQ-F-1', blob_sha256: '../../etc' }),
  flatLine({ event_type: 'edge_started', project: 'shop-of-old', feature: 'REQ-F-1', edge: 'design→code' }),
].join('\r\n');

describe.each(STORES)('an imported foreign log (%s store)', (name) => {
  test('is complete and in its order, and the lines that could not be placed are reported', async () => {
    const harness = await CoordinatorHarness.open(name);
    const report = await importForeign(bytesOf(OLD), intoStore(harness), importOptions);
    expect(report).toEqual({
      source: 'old.jsonl',
      read: 7,
      written: 7,
      already_there: 0,
      unplaced_count: 1,
      unplaced: [{ line: 6, why: 'it is not JSON' }],
      unknown_types: { brand_new: 1 },
      projects_seen: { shop: 1, 'shop-of-old': 3 },
      edges_unknown: { closure: 1 },
      not_listed: { unplaced: 0, unknown_types: 0, projects_seen: 0, edges_unknown: 0 },
    });
    const events = await harness.events();
    expect(
      events.map(({ event_type, payload }) => [event_type, (payload.imported as { line: number }).line]),
    ).toEqual([
      ['project_initialized', 1],
      ['edge_started', 2],
      ['edge_started', 4],
      ['edge_converged', 5],
      ['foreign_line', 6],
      ['brand_new', 7],
      ['edge_started', 8],
    ]);
    for (const { position: _, ...event } of events) expect(importedEventFault(event)).toBeNull();
    expect(await harness.store.scanHeads(PROJECT_KEY, { after: null, limit: 10 })).toEqual([]);
  });

  test('is not duplicated by a second import, which adds only new lines', async () => {
    const harness = await CoordinatorHarness.open(name);
    await importForeign(bytesOf(OLD), intoStore(harness), importOptions);
    const before = await harness.events();
    const again = await importForeign(bytesOf(OLD, 7), intoStore(harness), {
      ...importOptions,
      source: 'copy.jsonl',
    });
    expect(again).toMatchObject({ read: 7, written: 0, already_there: 7 });
    expect(await harness.events()).toEqual(before);
    const longer = `${OLD}\n${flatLine({ event_type: 'edge_started', project: 'shop-of-old', feature: 'REQ-F-1', edge: 'design→code' })}`;
    expect(await importForeign(bytesOf(longer), intoStore(harness), importOptions)).toMatchObject({
      written: 1,
    });
  });

  test('does not change the tasks of the project, and work continues', async () => {
    const harness = await CoordinatorHarness.open(name);
    await harness.plan(planOf('A-001-core'));
    await importForeign(bytesOf(OLD), intoStore(harness), importOptions);
    const claim = { task_id: 'A-001-core', agent_id: 'ada', session_id: 's' };
    expect(unwrap(await harness.coordinator.claims.claimTask(PROJECT_KEY, claim))).toMatchObject({
      success: true,
    });
    const checker = new PolicyAwareLogChecker();
    for (const event of await harness.events()) expect(checker.checkEvent(event)).toEqual([]);
  });

  test('moves with its project, including its blobs', async () => {
    const harness = await CoordinatorHarness.open(name);
    const long = flatLine({ event_type: 'x', note: 'n'.repeat(10_000_000) });
    const report = await importForeign(bytesOf(`${OLD}\n${long}`, 65_536), intoStore(harness), importOptions);
    expect(report.unplaced.at(-1)).toEqual({ line: 9, why: 'it is longer than 65536 bytes' });
    const target = await CoordinatorHarness.open(name);
    const moved = await importProject(
      target.store,
      target.blobs,
      exportProject(harness.store, harness.blobs, PROJECT_KEY),
    );
    expect(moved).toMatchObject({ events: 8 });
    expect(await target.events()).toEqual(await harness.events());
    const sha256 = createHash('sha256').update(long).digest('hex');
    const last = (await target.events()).at(-1);
    expect(last).toMatchObject({
      event_type: 'foreign_line',
      payload: { blob_sha256: sha256, size_bytes: long.length },
    });
    expect(Buffer.from((await target.blobs.get(PROJECT_KEY.tenant_id, sha256)) ?? '').toString()).toBe(long);
  });
});

test('bytes that are not text, and lines over the limit, are kept as far as possible', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0x0a]), Buffer.alloc(17 * 1024 * 1024, 'a')]);
  const report = await importForeign(bytesOf(bytes, 1024 * 1024), intoStore(harness), importOptions);
  expect(report.unplaced.map(({ why }) => why)).toEqual([
    'it is not UTF-8 text',
    'it is longer than 16777216 bytes: only its digest and its beginning are kept',
  ]);
  const [broken, long] = await harness.events();
  expect(broken?.payload).toMatchObject({ size_bytes: 2, blob_sha256: expect.any(String) });
  const sha256 = createHash('sha256')
    .update(Buffer.alloc(17 * 1024 * 1024, 'a'))
    .digest('hex');
  expect(long?.payload).toMatchObject({ sha256, size_bytes: 17 * 1024 * 1024 });
  expect(long?.payload).not.toHaveProperty('blob_sha256');
});

test('a log that exceeds one transaction is refused, unless it is imported in parts, which can be continued', async () => {
  const harness = await CoordinatorHarness.open('memory');
  const LINES = TRANSACTION_SIZE_MAX.events + 1000;
  const text = Array.from({ length: LINES }, (_, index) =>
    flatLine({ event_type: 'x', at: index % 300 }),
  ).join('\n');
  const target = intoStore(harness);
  let parts = 0;
  const failing: ForeignTarget = {
    ...target,
    put: (events) => {
      parts += 1;
      if (parts === 2) throw new Error('power loss');
      return target.put(events);
    },
  };
  expect(await importForeignLog(bytesOf(text), failing, importOptions)).toMatchObject({
    problem: 'BODY_TOO_LARGE',
    detail: expect.stringMatching(/^Nothing was imported: .* --in-parts/),
  });
  expect([parts, await harness.events()]).toEqual([0, []]);
  const inParts = { ...importOptions, is_in_parts: true };
  await expect(importForeign(bytesOf(text), failing, inParts)).rejects.toThrow('power loss');
  const again = await importForeign(bytesOf(text), target, inParts);
  expect(again).toMatchObject({ read: LINES, written: 1000, already_there: TRANSACTION_SIZE_MAX.events });
  const lines = (await harness.events()).map(({ payload }) => (payload.imported as { line: number }).line);
  expect(lines).toEqual(Array.from({ length: LINES }, (_, index) => index + 1));
});

test('an import without a target writes nothing, and its report is otherwise the same', async () => {
  expect(await importForeign(bytesOf(OLD), null, importOptions)).toMatchObject({
    read: 7,
    written: 0,
    unplaced_count: 1,
  });
});

test('an import of any lines counts each of them, repeats none, and breaks no view', async () => {
  await fc.assert(
    fc.asyncProperty(foreignLogArbitrary(), async (lines) => {
      const harness = await CoordinatorHarness.open('memory');
      const text = lines.join('\n');
      const first = await importForeign(bytesOf(text), intoStore(harness), importOptions);
      expect(first.read).toBe(lines.filter((line) => line.trim() !== '').length);
      expect(first.written).toBe(first.read);
      const events = await harness.events();
      expect(events).toHaveLength(first.read);
      const again = await importForeign(bytesOf(text), intoStore(harness), importOptions);
      expect([again.written, again.already_there]).toEqual([0, first.read]);
      expect(await harness.events()).toEqual(events);
      const methodology = emptyMethodologyState();
      for (const event of events) evolveMethodology(methodology, event);
      agentViews(foldProject(events));
      lineageOf('REQ-F-2#design_code', events);
      resultsOf(events);
      const session = emptySession('s-1');
      for (const event of events) evolveSession(session, event);
    }),
    { numRuns: 40 },
  );
});

describe('the report of an import', () => {
  const reportOf = (lines: readonly string[]) =>
    importForeign(bytesOf(lines.join('\n')), null, importOptions);

  test('does not call review_approved, intent_resolved and other types that are folded unknown', async () => {
    const types = ['review_approved', 'intent_resolved', 'convergence_achieved', 'feature_spawned'];
    const report = await reportOf(types.map((event_type) => flatLine({ event_type })));
    expect(report).toMatchObject({ read: 4, unknown_types: {} });
  });

  test('says how many lines each list leaves out', async () => {
    const lines = Array.from({ length: 103 }, (_, at) => [
      flatLine({ event_type: `type_${at}`, edge: `edge_${at}`, project: `project-${at}` }),
      `not json ${at}`,
    ]).flat();
    const report = await reportOf(lines);
    expect(report.not_listed).toEqual({ unplaced: 3, unknown_types: 3, projects_seen: 3, edges_unknown: 3 });
    expect([report.unplaced.length, Object.keys(report.unknown_types).length]).toEqual([100, 100]);
  });

  test('names a line that only the coordinator may write, and the lines after it are imported', async () => {
    const harness = await CoordinatorHarness.open('memory');
    const lines = [flatLine({ event_type: 'PLAN_CHANGED' }), flatLine({ event_type: 'edge_started' })].join(
      '\n',
    );
    const report = await importForeign(bytesOf(lines), intoStore(harness), importOptions);
    expect(report).toMatchObject({ read: 2, written: 2, unplaced: [{ line: 1 }] });
    expect((await harness.events()).map(({ event_type }) => event_type)).toEqual([
      'foreign_line',
      'edge_started',
    ]);
  });
});
