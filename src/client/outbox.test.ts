import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Genesis } from './genesis.js';
import { type FinishedResult, Outbox } from './outbox.js';
import type { SubmissionReply } from './replies.js';
import {
  builtFile,
  expectNoProblem,
  openClientHarness,
  planTextOf,
  startChild,
  tempFolder,
} from './testing/client-harness.js';

/** The path of a child program. It is built, because the tests start it often, and it starts faster without compiling. */
const childOf = (name: string): string => builtFile(`client/testing/${name}.child.js`);

const AGENT = { agent_id: 'agent-a' };
const FINISHED: FinishedResult = {
  request_id: 'r-1',
  task_id: 'A-001-part',
  session_id: 'sess-a',
  claim_id: 'c-1',
  generation: 1,
  agent_id: 'agent-a',
  result_data: { ok: true },
  finished_at: '2026-01-04T06:00:00.000Z',
};
const ACCEPTED: SubmissionReply = {
  accepted: true,
  reason: 'ACCEPTED',
  current_generation: 1,
  work_lost: false,
  late: false,
  work_product_ref: 'wp-A-001-part-gen1-abc',
  parked: null,
};

test.each(['lose_request', 'lose_reply'] as const)(
  'the next start submits the result of an agent that was killed before the reply (%s), and it counts once',
  async (loss) => {
    const { genesis, direct, proxy, outbox } = await openClientHarness(planTextOf({ A: 1 }));
    proxy.actionFor = (request) => (request.endsWith('/results') ? loss : 'pass');
    const child = startChild(childOf('agent'), [proxy.url, outbox]);
    expect(await child.nextLine()).toBe('working A-001-part');
    await proxy.waitForRequest('/results');
    await child.kill();
    proxy.actionFor = () => 'pass';

    const summary = await genesis.work(AGENT, async () => {
      throw new Error('there is nothing left to do');
    });
    expect(summary).toMatchObject({ accepted: 1, refused: 0, failed: 0, pending: 0 });
    expect(await genesis.outcomes()).toMatchObject([
      { agent_id: 'agent-child', accepted: true, generation: 1 },
    ]);
    const { results } = expectNoProblem(await direct.results('A-001-part'));
    expect(results).toMatchObject([{ accepted: true, agent_id: 'agent-child' }]);
    expect(await genesis.flushOutbox()).toEqual([]);
  },
);

test('a server that is killed and restarted loses no result, and counts none twice', async () => {
  const root = join(await tempFolder(), 'store');
  const first = startChild(childOf('server'), [root]);
  const port = (await first.nextLine()) ?? '';
  const url = `http://127.0.0.1:${port}`;
  const genesis = new Genesis({ url, project: 'shop', outbox: await tempFolder() });
  expectNoProblem(await genesis.putPlan(planTextOf({ A: 6 })));
  let startedCount = 0;
  let restartedPort: Promise<unknown> = Promise.resolve();
  const summary = await genesis.work({ ...AGENT, concurrency: 2 }, async ({ task_id }) => {
    if (++startedCount === 3)
      restartedPort = first.kill().then(() => startChild(childOf('server'), [root, port]).nextLine());
    return task_id;
  });
  expect(await restartedPort).toBe(port);
  expect(summary).toMatchObject({ accepted: 6, refused: 0, pending: 0 });
  const { events } = expectNoProblem(await genesis.events({ type: 'RESULT_SUBMITTED', limit: 1000 }));
  expect(events.map(({ task_id }) => task_id).sort()).toHaveLength(6);
  expect(new Set(events.map(({ task_id }) => task_id)).size).toBe(6);
});

test('concurrent flushes send a result once, record its outcome and remove its file', async () => {
  const outbox = new Outbox(await tempFolder());
  await outbox.returnToPending(await outbox.put(FINISHED));
  const sent: string[] = [];
  const submit = async ({ request_id }: FinishedResult) => {
    sent.push(request_id);
    return ACCEPTED;
  };
  const flushed = await Promise.all([outbox.flush(submit), new Outbox(outbox.folder).flush(submit)]);
  expect(sent).toEqual(['r-1']);
  expect(flushed.flat()).toMatchObject([{ request_id: 'r-1', accepted: true }]);
  expect(await outbox.outcomes()).toMatchObject([{ request_id: 'r-1', reason: 'ACCEPTED' }]);
  expect(await outbox.pending()).toBe(0);
});

test('keeps a result without a final answer, and a refused result that the server does not keep', async () => {
  const outbox = new Outbox(await tempFolder());
  await outbox.returnToPending(await outbox.put(FINISHED));
  await outbox.flush(async () => ({ code: 'UNAUTHENTICATED', detail: 'the key expired', status: 401 }));
  expect(await outbox.pending()).toBe(1);
  const refused = {
    accepted: false,
    reason: 'SESSION_MISMATCH',
    work_lost: true,
    work_product_ref: null,
    next: 'Use the handle that the grant returned.',
  } as const;
  const [outcome] = await outbox.flush(async () => ({ ...ACCEPTED, ...refused }));
  expect(outcome).toMatchObject({ accepted: false, reason: 'SESSION_MISMATCH' });
  expect(await readdir(outbox.folder)).toEqual(['outcomes.jsonl', 'r-1.refused']);
  expect(await outbox.pending()).toBe(0);
});

describe('when the outbox cannot be written', () => {
  async function openWithUnwritableOutbox() {
    const harness = await openClientHarness(planTextOf({ A: 1 }));
    const file = join(await tempFolder(), 'full');
    await writeFile(file, '');
    const warnings: string[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning.message);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    return { ...harness, genesis: harness.client({ outbox: file, retry: { tries: 1 } }), warnings };
  }

  test('a result is submitted anyway, with a warning', async () => {
    const { genesis, direct, warnings } = await openWithUnwritableOutbox();
    const summary = await genesis.work(AGENT, async () => ({ ok: true }));
    expect(summary).toMatchObject({ accepted: 1, refused: 0, pending: 0 });
    expect(expectNoProblem(await direct.task('A-001-part')).phase).toBe('COMPLETED');
    expect(warnings.join()).toMatch(/A-001-part cannot be written to .*It is submitted anyway/);
  });

  test('a result that the server does not answer is sent again before the run ends', async () => {
    const { genesis, direct, proxy } = await openWithUnwritableOutbox();
    const stopController = new AbortController();
    let lost = 0;
    proxy.actionFor = (request) => {
      if (!request.endsWith('/results') || lost > 0) return 'pass';
      lost += 1;
      stopController.abort();
      return 'lose_reply';
    };
    const summary = await genesis.work({ ...AGENT, signal: stopController.signal }, async () => ({
      ok: true,
    }));
    expect(summary).toMatchObject({ accepted: 1, pending: 0 });
    expect(expectNoProblem(await direct.events({ type: 'RESULT_SUBMITTED' })).events).toHaveLength(1);
  });
});

test('returns an outcome even if it cannot be recorded', async () => {
  const outbox = new Outbox(await tempFolder());
  const path = await outbox.put(FINISHED);
  await mkdir(join(outbox.folder, 'outcomes.jsonl'));
  expect(await outbox.send(path, async () => ACCEPTED)).toMatchObject({ accepted: true });
});

test('sets a broken file aside with a warning, and submits the others', async () => {
  const folder = await tempFolder();
  const outbox = new Outbox(folder);
  await writeFile(join(folder, 'r-0.json'), '{"request_id": "r-0", "task');
  await writeFile(join(folder, 'r-00.json'), JSON.stringify({ ...FINISHED, request_id: '../elsewhere' }));
  await outbox.returnToPending(await outbox.put(FINISHED));
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => void warnings.push(message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  expect(await outbox.flush(async () => ACCEPTED)).toMatchObject([{ request_id: 'r-1', accepted: true }]);
  expect(await outbox.flush(async () => ACCEPTED)).toEqual([]);
  expect((await readdir(folder)).sort()).toEqual(['outcomes.jsonl', 'r-0.broken', 'r-00.broken']);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([
    expect.stringContaining('r-0.broken is not a finished result'),
    expect.stringContaining('r-00.broken is not a finished result'),
  ]);
});
