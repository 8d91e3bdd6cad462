import { describe, expect, test } from 'vitest';
import {
  CoordinatorHarness,
  PROJECT_KEY,
  planOf,
  type TestStoreName,
  unwrap,
} from '../../../test/support/coordinator-harness.js';
import { HISTORY_SUBJECT } from '../../core/subject.js';
import { MemoryBlobs } from '../../stores/blobs.js';
import type { Store } from '../../stores/store.js';
import { CLAIMS_SCOPE, SESSIONS_SCOPE, trackScope } from '../queue/permit-limits.js';
import type { ArchiveLine } from './archive.js';
import { exportProject } from './export-project.js';
import { importProject } from './import-project.js';

const [A, B, C] = ['A-001-core', 'A-002-more', 'B-001-data'] as const;
const LARGE = 'x'.repeat(100_000);

/** A project with one of everything: a blob result, refused work, a live claim, sessions, a policy. */
async function exportedSampleProject(
  name: TestStoreName,
): Promise<{ harness: CoordinatorHarness; lines: ArchiveLine[] }> {
  const harness = await CoordinatorHarness.open(name);
  const { coordinator } = harness;
  await harness.plan(planOf(A, B, C));
  unwrap(await coordinator.settings.putPolicy(PROJECT_KEY, { max_agents_per_track: 2 }));
  const agentFields = (agent: string) => ({ agent_id: agent, session_id: `s-${agent}` });
  for (const [task_id, agent] of [
    [A, 'alpha'],
    [B, 'beta'],
  ] as const) {
    unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id, ...agentFields(agent) }));
  }
  unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: A, ...agentFields('gamma') }));
  unwrap(await coordinator.holder.submitResult(PROJECT_KEY, submissionOf(A, 'alpha', LARGE)));
  unwrap(await coordinator.claims.claimTask(PROJECT_KEY, { task_id: C, ...agentFields('alpha') }));
  const lines: ArchiveLine[] = [];
  for await (const line of exportProject(harness.store, harness.blobs, PROJECT_KEY)) lines.push(line);
  return { harness, lines };
}

const submissionOf = (task_id: string, agent: string, result_data: unknown) => ({
  task_id,
  session_id: `s-${agent}`,
  generation: 1,
  result_data,
});

async function* linesOf(lines: readonly ArchiveLine[]): AsyncGenerator<ArchiveLine> {
  yield* lines;
}

const eventsOf = (store: Store) => store.events(PROJECT_KEY, { after: 0, limit: 1000 });
const headsOf = (store: Store) => store.scanHeads(PROJECT_KEY, { after: null, limit: 1000 });

describe('a moved project', () => {
  for (const [from, to] of [
    ['memory', 'file'],
    ['file', 'memory'],
    ['file', 'file'],
    ['memory', 'memory'],
  ] as const) {
    // req: STO-018
    test(`has the same log and state, from ${from} to ${to}`, async () => {
      const { harness, lines } = await exportedSampleProject(from);
      const target = await CoordinatorHarness.open(to);
      const position = await harness.position();
      const moved = await importProject(target.store, target.blobs, linesOf(lines));
      expect(moved).toEqual({ ...PROJECT_KEY, events: position, found: 0 });
      expect(await eventsOf(target.store)).toEqual(await eventsOf(harness.store));
      expect(await headsOf(target.store)).toEqual(await headsOf(harness.store));
      for (const [scope, taken] of [
        [CLAIMS_SCOPE, 2],
        [SESSIONS_SCOPE, 2],
        [trackScope('A'), 1],
        [trackScope('B'), 1],
      ] as const) {
        expect(await target.store.countPermits(PROJECT_KEY.tenant_id, scope), scope).toBe(taken);
      }
      const { queries } = target.coordinator;
      const [result] = unwrap(await queries.listResults(PROJECT_KEY, A)).results;
      expect(await queries.getResult(PROJECT_KEY, A, result?.id ?? '')).toMatchObject({ result_data: LARGE });
    });
  }

  test('continues in the new store: the holder of a task submits under its generation', async () => {
    const { lines } = await exportedSampleProject('memory');
    const target = await CoordinatorHarness.open('memory');
    await importProject(target.store, target.blobs, linesOf(lines));
    expect(
      await target.coordinator.holder.submitResult(PROJECT_KEY, submissionOf(B, 'beta', 1)),
    ).toMatchObject({
      accepted: true,
      current_generation: 1,
    });
  });
});

describe('an import', () => {
  test('that was interrupted continues where it stopped', async () => {
    const { harness, lines } = await exportedSampleProject('memory');
    const target = await CoordinatorHarness.open('memory');
    const half = lines.slice(0, 4);
    expect(await importProject(target.store, target.blobs, linesOf(half))).toMatchObject({
      refused: 'ARCHIVE_BROKEN',
      detail: expect.stringContaining('truncated'),
    });
    const interrupted = await CoordinatorHarness.open('memory');
    await interrupted.store.commit(await committedTransactions(half));
    expect(await importProject(interrupted.store, interrupted.blobs, linesOf(lines))).toMatchObject({
      found: 3,
    });
    expect(await eventsOf(interrupted.store)).toEqual(await eventsOf(harness.store));
  });

  test('does not change a project that has its own history', async () => {
    const { lines } = await exportedSampleProject('memory');
    const target = await CoordinatorHarness.open('memory');
    await target.plan(planOf(C));
    const before = await eventsOf(target.store);
    expect(await importProject(target.store, target.blobs, linesOf(lines))).toMatchObject({
      refused: 'PROJECT_EXISTS',
    });
    expect(await eventsOf(target.store)).toEqual(before);
  });

  test('checks an event about the history in full, since such events account for redacted lines', async () => {
    const { lines } = await exportedSampleProject('memory');
    const loose = lines.findIndex((line) => 'event' in line && line.event.seq === undefined);
    const about = { event_type: 'HISTORY_FORGOTTEN', subject: HISTORY_SUBJECT };
    const forged = lines.with(loose, withEvent(lines[loose], { ...about, payload: { events: 5 } }));
    const { store } = await CoordinatorHarness.open('memory');
    expect(await importProject(store, new MemoryBlobs(), linesOf(forged))).toMatchObject({
      refused: 'ARCHIVE_BROKEN',
      detail: expect.stringContaining('payload'),
    });
  });

  test('refuses a file that is not an archive, has a gap or a forged blob, or violates a rule', async () => {
    const { lines } = await exportedSampleProject('memory');
    const blob = lines.findIndex((line) => 'blob_sha256' in line);
    const forged = lines.with(blob, { ...lines[blob], base64: 'AAAA' } as ArchiveLine);
    const untexted = lines.with(blob, { ...lines[blob], base64: 5 } as unknown as ArchiveLine);
    const grant = lines.findIndex((line) => 'event' in line && line.event.event_type === 'CLAIM_ACQUIRED');
    const skipped = lines.with(grant, withEvent(lines[grant], { generation: 7 }));
    const unnamed = lines.with(grant, withEvent(lines[grant], { event_id: '../..' }));
    for (const archive of [[], lines.slice(1), lines.toSpliced(2, 1), forged, untexted, skipped, unnamed]) {
      const { store } = await CoordinatorHarness.open('memory');
      expect(await importProject(store, new MemoryBlobs(), linesOf(archive))).toMatchObject({
        refused: 'ARCHIVE_BROKEN',
      });
    }
  });
});

const withEvent = (line: ArchiveLine | undefined, fields: object): ArchiveLine =>
  line !== undefined && 'event' in line ? { event: { ...line.event, ...fields } } : expect.unreachable();

/** The transactions committed by an import of these lines. */
async function committedTransactions(lines: readonly ArchiveLine[]) {
  const { store } = await CoordinatorHarness.open('memory');
  const transactions: Parameters<Store['commit']>[0][number][] = [];
  const recording: Store = Object.assign(Object.create(store), {
    commit: async (sent: typeof transactions) => {
      transactions.push(...sent.filter(({ changes_rules }) => !changes_rules));
      return store.commit(sent);
    },
  });
  const [header, ...bodyLines] = lines;
  const complete = { ...header, position: bodyLines.length } as ArchiveLine;
  await importProject(recording, new MemoryBlobs(), linesOf([complete, ...bodyLines]));
  return transactions;
}

test('an archive with an event from the future is refused, because later events would get its time', async () => {
  const { lines } = await exportedSampleProject('memory');
  const target = await CoordinatorHarness.open('file');
  const dated = lines.map((line, index) =>
    index === lines.length - 1 && 'event' in line
      ? { event: { ...line.event, timestamp: '2036-01-04T06:00:00.000Z' } }
      : line,
  );
  const refusal = await importProject(target.store, new MemoryBlobs(), linesOf(dated));
  expect(refusal).toMatchObject({ detail: expect.stringContaining('from the future: 2036-01-04') });
});
