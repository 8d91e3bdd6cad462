/**
 * Who: a caller who may send a plan, tasks or a workspace; in a shared service, one tenant among many.
 *
 * What they want: to stop all work with one document. Claims depend on renewals: a coordinator that spends half a
 * minute on reading renews nothing, and every claim of every tenant expires. A YAML plan of 0.39 MB with a fault in
 * each line took 26 seconds to refuse, and a plan of 4.5 MB took minutes.
 *
 * What stops them: a large document is read in a separate thread (`src/coordinator/documents`), one at a time, tenants
 * in turn. Reading is linear and bounded in time and memory, and only few documents of a tenant may wait. The remaining
 * work on the event loop is done a few milliseconds at a time.
 *
 * The tests compare the order of replies, never durations. The attack over HTTP is in `large-documents.long.test.ts`.
 */
import { describe, expect, test } from 'vitest';
import * as texts from '../../bench/formats/texts.js';
import { Coordinator } from '../../src/coordinator/coordinator.js';
import { type DocumentReader, ThreadedDocumentReader } from '../../src/coordinator/documents/documents.js';
import type { DocumentJob, ParsedDocument } from '../../src/coordinator/documents/job.js';
import { UnparsedJson } from '../../src/coordinator/documents/unparsed-json.js';
import { systemEnvironment } from '../../src/coordinator/runtime/environment.js';
import { isProblem, type Problem } from '../../src/coordinator/wire/problem.js';
import { openMemoryStore } from '../../src/stores/memory/memory-store.js';

const CALLS = 5;

/** Reads documents only once the test releases them: until then everything else must continue. */
class HeldDocuments implements DocumentReader {
  private readonly threaded = new ThreadedDocumentReader();
  private release: () => void = () => {};
  private readonly released = new Promise<void>((resolve) => {
    this.release = resolve;
  });

  async read(tenantId: string, job: DocumentJob): Promise<ParsedDocument | Problem> {
    await this.released;
    return this.threaded.read(tenantId, job);
  }
  resume(): void {
    this.release();
  }
  close(): void {
    this.threaded.close();
  }
}

describe('claims are renewed before the document reader starts on', () => {
  const projectKey = { tenant_id: 'acme', project_id: 'shop' };
  const tasks = Array.from({ length: 100 }, (_, index) => ({
    id: `B-${String(index + 1).padStart(3, '0')}-y`,
    description: 'one of many tasks, so that the text is larger than a few KB',
  }));
  const tasksJson = JSON.stringify(tasks);
  const files = { 'features/active/REQ-F-A.yml': `feature: REQ-F-A\ntitle: T\nnotes: ${'n'.repeat(5000)}\n` };
  const COMMANDS: readonly (readonly [string, (coordinator: Coordinator) => Promise<object>])[] = [
    ['a plan in YAML', ({ plans }) => plans.put(projectKey, `tracks:\n  B: ${tasksJson}`)],
    [
      'a plan in JSON',
      ({ plans }) => plans.put(projectKey, new UnparsedJson(`{"tracks":{"B":${tasksJson}}}`)),
    ],
    ['tasks in JSON', ({ plans }) => plans.add(projectKey, new UnparsedJson(`{"tasks":${tasksJson}}`))],
    ['the files of a workspace', ({ settings }) => settings.configure(projectKey, { files })],
    [
      'the files of a workspace in JSON',
      ({ settings }) =>
        settings.configureText('acme', new UnparsedJson(JSON.stringify({ project_id: 'shop', files }))),
    ],
  ];

  test.each(COMMANDS)('%s', async (_, send) => {
    const documents = new HeldDocuments();
    const coordinator = await Coordinator.open({ store: openMemoryStore(), documents });
    const other = { tenant_id: 'acme', project_id: 'other' };
    const plan = { tracks: { A: [{ id: 'A-001-x', description: 'd' }] } };
    await coordinator.plans.put(other, plan);
    await coordinator.plans.put(projectKey, plan);
    const granted = await coordinator.claims.claimTask(other, {
      task_id: 'A-001-x',
      agent_id: 'a',
      session_id: 's',
    });
    const order: string[] = [];
    const sending = send(coordinator).then((reply) => {
      expect(isProblem(reply)).toBe(false);
      order.push('document');
    });
    const renewal = { task_id: 'A-001-x', session_id: 's', expected_generation: 1 };
    for (let call = 0; call < CALLS; call += 1) {
      expect(await coordinator.holder.renewLease(other, renewal)).toMatchObject({ success: true });
      order.push('renewed');
    }
    documents.resume();
    await sending;
    expect(granted).toMatchObject({ success: true });
    expect(order).toEqual([...Array.from({ length: CALLS }, () => 'renewed'), 'document']);
    coordinator.close();
  });
});

test('claims are renewed while the tasks of a changed plan are scanned', async () => {
  // Every reading of this clock takes a millisecond, so that a slice covers a few subjects on any machine.
  let readings = 0;
  const environment = {
    ...systemEnvironment,
    clock: { ...systemEnvironment.clock, monotonicMs: () => (readings += 1) },
  };
  const coordinator = await Coordinator.open({ store: openMemoryStore(), environment });
  const projectKey = { tenant_id: 'acme', project_id: 'shop' };
  const other = { tenant_id: 'acme', project_id: 'other' };
  const plan = (subtasks: number) => ({ tracks: { A: [{ id: 'A-001-x', description: 'd', subtasks }] } });
  await coordinator.plans.put(projectKey, plan(2_000));
  await coordinator.plans.put(other, plan(1));
  const agent = { agent_id: 'a', session_id: 's' };
  expect(await coordinator.claims.claimTask(other, { task_id: 'A-001-x::1', ...agent })).toMatchObject({
    success: true,
  });
  const order: string[] = [];
  const next = coordinator.claims.next(projectKey, agent).then((reply) => {
    expect(reply).toMatchObject({ success: true });
    order.push('next');
  });
  for (let call = 0; call < CALLS; call += 1) {
    await coordinator.holder.renewLease(other, {
      task_id: 'A-001-x::1',
      session_id: 's',
      expected_generation: 1,
    });
    order.push('renewed');
  }
  await next;
  expect(order).toEqual([...Array.from({ length: CALLS }, () => 'renewed'), 'next']);
  coordinator.close();
});

describe('a document that exceeds a limit', () => {
  const limits = { ms_max: 600_000, heap_mb_max: 768, queued_max: 4, idle_ms: 60_000 };
  const validDocument = {
    kind: 'plan',
    form: 'json',
    text: '{"tracks":{"A":[{"id":"A-001-x","description":"d"}]}}',
  } as const;
  const hostile = () => ({ kind: 'plan', form: 'yaml', text: texts.unknownFields(1_500_000) }) as const;

  test('is refused when its time is used up', async () => {
    const documents = new ThreadedDocumentReader({ ...limits, ms_max: 1 });
    expect(await documents.read('acme', hostile())).toMatchObject({
      problem: 'INVALID_REQUEST',
      detail: expect.stringContaining('0.001 seconds'),
    });
    documents.close();
  });

  test('is refused at once if too many of its tenant wait, and other tenants are read in turn', async () => {
    const documents = new ThreadedDocumentReader({ ...limits, queued_max: 2 });
    const order: string[] = [];
    const read = async (tenantId: string) => {
      const reply = await documents.read(tenantId, validDocument);
      order.push('problem' in reply ? `${tenantId} ${reply.problem}` : tenantId);
    };
    await Promise.all([...['a', 'a', 'a', 'a'].map(read), read('b')]);
    expect(order.filter((entry) => entry === 'a UNAVAILABLE')).toHaveLength(1);
    expect(order.indexOf('b')).toBeLessThan(order.lastIndexOf('a'));
    documents.close();
  });
});
