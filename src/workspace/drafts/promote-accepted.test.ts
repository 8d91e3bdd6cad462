import { readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { CoordinatorHarness, PROJECT_KEY, unwrap } from '../../../test/support/coordinator-harness.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { collectDrafts } from './collect.js';
import { type PromotionLog, promoteAccepted } from './promote-accepted.js';
import { ALPHA, DraftsHarness, digest, EDGE } from './testing/drafts-harness.js';

/** A project with its coordinator, and agents that submit their drafts. */
async function openWithLog() {
  const harness = await CoordinatorHarness.open('file', { home: PROJECT_KEY });
  const draftsHarness = await DraftsHarness.open();
  unwrap(await harness.coordinator.settings.putPolicy(PROJECT_KEY, { stale_policy: { edge: 'takeover' } }));
  const log: PromotionLog = { store: harness.store, blobs: harness.blobs, key: PROJECT_KEY };
  const harnessAgent = (agentId: string) => new HarnessAgent(harness, agentId, `s-${agentId}`);
  const submitDrafts = async (agent: HarnessAgent, subject = EDGE) => {
    const manifest = await collectDrafts(draftsHarness, log, { agent_id: agent.agent_id, subject });
    return agent.submit(subject, manifest);
  };
  const convergeEdge = async (subject: string, files: Record<string, string>) => {
    const alpha = harnessAgent('alpha');
    await alpha.claim(subject);
    for (const [path, text] of Object.entries(files))
      await draftsHarness.writeDraft(path, text, { ...ALPHA, subject });
    expect(await submitDrafts(alpha, subject)).toMatchObject({ reason: 'ACCEPTED' });
  };
  return { harness, draftsHarness, log, harnessAgent, submitDrafts, convergeEdge };
}

const OTHER_EDGE = 'REQ-F-PAY-2#code_unit_tests';
const watermarkPath = (draftsHarness: DraftsHarness) =>
  draftsHarness.workspacePath('events', 'promoted.json');

describe('promoting accepted results', () => {
  test('follows the order of the log, and examines each result once', async () => {
    const { draftsHarness, log, convergeEdge } = await openWithLog();
    await convergeEdge(EDGE, { 'src/a': 'one', 'src/b': 'b' });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: ['src/a', 'src/b'] });
    await convergeEdge(OTHER_EDGE, { 'src/a': 'two' });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: ['src/a'], unchanged: [] });
    expect(await draftsHarness.readShared('src/a')).toBe('two');
    // A later change by a person is kept, even if it restores an earlier version.
    await draftsHarness.writeShared('src/a', 'one');
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({
      written: [],
      unchanged: [],
      conflicts: [],
    });
    expect(await draftsHarness.readShared('src/a')).toBe('one');
  });

  test('starts from the beginning when the watermark is missing, invalid or from another log', async () => {
    const { draftsHarness, log, convergeEdge } = await openWithLog();
    await convergeEdge(EDGE, { 'src/a': 'one' });
    await promoteAccepted(draftsHarness, log);
    await convergeEdge(OTHER_EDGE, { 'src/a': 'two' });
    await promoteAccepted(draftsHarness, log);
    const { position } = JSON.parse(await readFile(watermarkPath(draftsHarness), 'utf8')) as {
      position: number;
    };
    const otherLogMark = JSON.stringify({ position, event_id: 'another', unfinished: [] });
    for (const mark of [null, '{', '{"position":-1}', otherLogMark]) {
      if (mark === null) await rm(watermarkPath(draftsHarness));
      else await writeFile(watermarkPath(draftsHarness), mark);
      expect(await promoteAccepted(draftsHarness, log)).toMatchObject({
        unchanged: ['src/a'],
        conflicts: [],
      });
      await writeFile(watermarkPath(draftsHarness), mark ?? '');
      await draftsHarness.writeShared('src/a', 'by hand');
      expect(await promoteAccepted(draftsHarness, log)).toMatchObject({
        written: [],
        conflicts: [{ path: 'src/a' }],
      });
      await draftsHarness.writeShared('src/a', 'two');
    }
  });

  test('runs concurrent calls one after the other', async () => {
    const { draftsHarness, log, convergeEdge } = await openWithLog();
    await convergeEdge(EDGE, { a: 'one', b: 'b', c: 'c' });
    let runningCount = 0;
    let maxRunningCount = 0;
    const countRunning = (step: string) => {
      if (step === 'read') maxRunningCount = Math.max(maxRunningCount, ++runningCount);
      if (step === 'synced') runningCount -= 1;
    };
    const calls = [1, 2, 3].map(() => promoteAccepted(draftsHarness, log, countRunning));
    expect((await Promise.all(calls)).map(({ written }) => written.length)).toEqual([3, 0, 0]);
    expect(maxRunningCount).toBe(1);
  });

  test('skips results without files, and writes a watermark at intervals', async () => {
    const { draftsHarness, log, harness, harnessAgent } = await openWithLog();
    const alpha = harnessAgent('alpha');
    await alpha.claim(EDGE);
    await alpha.submit(EDGE, { done: true });
    await promoteAccepted(draftsHarness, log);
    await expect(readFile(watermarkPath(draftsHarness))).rejects.toThrow('ENOENT');
    await alpha.claim(OTHER_EDGE);
    for (let at = 0; at < 500; at += 1) await alpha.notes(OTHER_EDGE, `${at}`);
    await promoteAccepted(draftsHarness, log);
    expect(JSON.parse(await readFile(watermarkPath(draftsHarness), 'utf8'))).toMatchObject({
      position: await harness.position(),
    });
  });

  test('reads a manifest from a blob when it is too large for an event', async () => {
    const { draftsHarness, log, convergeEdge, harness } = await openWithLog();
    const long = 'x'.repeat(240);
    const files = Object.fromEntries(
      Array.from({ length: 220 }, (_, index) => [`many/${index}${long}`, `${index}`]),
    );
    await convergeEdge(EDGE, files);
    expect((await harness.events()).at(-1)?.payload).toHaveProperty('blob_sha256');
    expect((await promoteAccepted(draftsHarness, log)).written).toHaveLength(220);
  });

  test('skips results of tasks, of other tools, without files or with an invalid manifest', async () => {
    const { draftsHarness, log, harness, convergeEdge } = await openWithLog();
    await convergeEdge(EDGE, { a: 'a' });
    const [event] = (await harness.events()).slice(-1) as [EventEnvelope];
    const resultData = event.payload.result_data as { files: { path: string }[] };
    const evil = structuredClone(resultData);
    evil.files[0]!.path = '../evil';
    const { seq: _, ...foreign } = event;
    const events: EventEnvelope[] = [
      foreign,
      { ...event, subject: 'A-001-x' },
      { ...event, payload: { ...event.payload, result_data: { done: true } } },
      { ...event, payload: { ...event.payload, result_data: evil } },
    ];
    const store = {
      project: async () => ({ position: events.length, rules_seq: 0 }),
      events: async (_key: unknown, query: { after: number }) =>
        events.map((event, index) => ({ ...event, position: index + 1 })).slice(query.after),
    };
    const promotion = await promoteAccepted(draftsHarness, { ...log, store });
    expect(promotion).toMatchObject({
      written: [],
      failures: [{ position: 4, path: 'files.0.path', is_retryable: false }],
    });
    expect(await draftsHarness.readShared('a')).toBeNull();
  });

  test('retries a result whose blobs were missing', async () => {
    const { draftsHarness, log, convergeEdge } = await openWithLog();
    await convergeEdge(EDGE, { a: 'a', b: 'b' });
    const blobsWithoutA = {
      put: log.blobs.put.bind(log.blobs),
      size: log.blobs.size.bind(log.blobs),
      get: async (tenant: string, sha256: string) =>
        sha256 === digest('a') ? null : log.blobs.get(tenant, sha256),
    };
    const first = await promoteAccepted(draftsHarness, { ...log, blobs: blobsWithoutA });
    expect(first).toMatchObject({ written: ['b'], failures: [{ path: 'a' }] });
    await convergeEdge(OTHER_EDGE, { c: 'c' });
    const second = await promoteAccepted(draftsHarness, { ...log, blobs: blobsWithoutA });
    expect(second).toMatchObject({ written: ['c'], failures: [{ path: 'a' }] });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: ['a'], failures: [] });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: [], unchanged: [] });
  });
});

describe('an interrupted promotion', () => {
  const stepsOf = async (): Promise<string[]> => {
    const steps: string[] = [];
    const { draftsHarness, log, convergeEdge } = await openWithLog();
    await draftsHarness.writeShared('c', 'old');
    await convergeEdge(EDGE, { a: 'a', 'b/b': 'b', c: 'c' });
    await draftsHarness.writeShared('c', 'by hand');
    await promoteAccepted(draftsHarness, log, (step, path) => void steps.push(`${step} ${path}`));
    return steps;
  };

  test('is completed on the next start, when it is interrupted twice at any step', async () => {
    const steps = await stepsOf();
    expect(steps.length).toBeGreaterThan(9);
    const { draftsHarness, log, convergeEdge } = await openWithLog();
    await draftsHarness.writeShared('c', 'old');
    await convergeEdge(EDGE, { a: 'a', 'b/b': 'b', c: 'c' });
    await draftsHarness.writeShared('c', 'by hand');
    for (const crash of steps) {
      for (const path of ['a', 'b', watermarkPath(draftsHarness).slice(draftsHarness.root.length + 1)]) {
        await rm(`${draftsHarness.root}/${path}`, { recursive: true, force: true });
      }
      const crashing = promoteAccepted(draftsHarness, log, (step, path) => {
        if (`${step} ${path}` === crash) throw new Error('crash');
      });
      await expect(crashing).rejects.toThrow('crash');
      await promoteAccepted(draftsHarness, log);
      const files = await Promise.all(['a', 'b/b', 'c'].map((path) => draftsHarness.readShared(path)));
      expect({ crash, files }).toEqual({ crash, files: ['a', 'b', 'by hand'] });
      expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: [], conflicts: [] });
    }
  });
});

describe('an agent whose claim another agent has taken over', () => {
  test('cannot promote its drafts, which are kept, and promoted when its result is adopted', async () => {
    const { harness, draftsHarness, log, harnessAgent, submitDrafts } = await openWithLog();
    await draftsHarness.writeShared('src/a', 'old');
    const [alpha, beta] = [harnessAgent('alpha'), harnessAgent('beta')];
    await alpha.claim(EDGE);
    await draftsHarness.writeDraft('src/a', 'by alpha');
    await draftsHarness.writeDraft('src/new', 'by alpha');
    harness.advance(24 * 3600);
    expect(await beta.claim(EDGE)).toMatchObject({ success: true, claim: { generation: 2 } });
    const lateReply = await submitDrafts(alpha);
    expect(lateReply).toMatchObject({
      accepted: false,
      reason: 'STALE_GENERATION',
      parked: expect.any(String),
    });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: [], conflicts: [] });
    expect([await draftsHarness.readShared('src/a'), await draftsHarness.readShared('src/new')]).toEqual([
      'old',
      null,
    ]);
    expect((await draftsHarness.collectValid()).files).toHaveLength(2);

    const body = { expected_generation: 2, reason: 'it was good', result_id: lateReply.parked };
    const adopted = await harness.coordinator.decisions.operate(
      PROJECT_KEY,
      EDGE,
      'adopt',
      body,
      personCaller('ann'),
    );
    expect(adopted).toMatchObject({ reason: 'ADOPTED' });
    expect(await promoteAccepted(draftsHarness, log)).toMatchObject({ written: ['src/a', 'src/new'] });
    expect([await draftsHarness.readShared('src/a'), await draftsHarness.readShared('src/new')]).toEqual([
      'by alpha',
      'by alpha',
    ]);
  });

  test('cannot collect drafts that conflict with the promoted files of its successor', async () => {
    const { harness, draftsHarness, log, harnessAgent, submitDrafts } = await openWithLog();
    await draftsHarness.writeShared('src/a', 'old');
    const [alpha, beta] = [harnessAgent('alpha'), harnessAgent('beta')];
    await alpha.claim(EDGE);
    await draftsHarness.writeDraft('src/a', 'by alpha');
    await draftsHarness.collectValid();
    harness.advance(24 * 3600);
    await beta.claim(EDGE);
    await draftsHarness.writeDraft('src/a', 'by beta', { agent_id: 'beta', subject: EDGE });
    expect(await submitDrafts(beta)).toMatchObject({ reason: 'ACCEPTED' });
    await promoteAccepted(draftsHarness, log);
    expect(await draftsHarness.readShared('src/a')).toBe('by beta');
    expect(await draftsHarness.collect()).toMatchObject({ refused: 'BASE_CHANGED', path: 'src/a' });
  });
});
