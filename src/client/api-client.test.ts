import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Genesis } from './genesis.js';
import { expectNoProblem, openClientHarness, planTextOf } from './testing/client-harness.js';
import { startFaultyProxy } from './testing/proxy.js';

const AGENT = { agent_id: 'agent-a', session_id: 'sess-a' };

test('completes a task from plan to lineage, with a typed value for each step', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 2 }));
  const first = expectNoProblem(await genesis.next(AGENT));
  if (!first.success) throw new Error(first.reason);
  const { task_id, generation, id: claim_id, session_id } = first.claim;
  expect(first.briefing?.handle).toEqual({ task_id, generation, claim_id, session_id });

  const secondClaim = expectNoProblem(
    await genesis.claimTask({ task_id, agent_id: 'agent-b', session_id: 'sess-b' }),
  );
  expect(secondClaim).toMatchObject({
    success: false,
    reason: 'DENIED_ACTIVE_CLAIM',
    current_holder: 'agent-a',
  });

  const handle = { task_id, session_id, claim_id };
  expect(await genesis.renewLease({ ...handle, expected_generation: generation })).toMatchObject({
    success: true,
  });
  expect(await genesis.note({ ...handle, generation, text: 'half done' })).toMatchObject({ success: true });
  const submitted = await genesis.submitResult({ ...handle, generation, result_data: { ok: true } });
  expect(submitted).toMatchObject({ accepted: true, reason: 'ACCEPTED' });

  expect(expectNoProblem(await genesis.task(task_id)).phase).toBe('COMPLETED');
  expect(expectNoProblem(await genesis.tasks({ phase: 'OPEN' })).tasks).toHaveLength(1);
  expect(expectNoProblem(await genesis.history(task_id)).generations).toHaveLength(1);
  const { results } = expectNoProblem(await genesis.results(task_id));
  expect(expectNoProblem(await genesis.result(task_id, results[0]?.id ?? '')).result_data).toEqual({
    ok: true,
  });
  expect(expectNoProblem(await genesis.explain(task_id)).claimable).toBe(false);
  expect(expectNoProblem(await genesis.status()).counts.completed).toBe(1);
  expect(expectNoProblem(await genesis.agents()).agents.map(({ agent_id }) => agent_id)).toContain('agent-a');
  expect(expectNoProblem(await genesis.projects()).projects).toMatchObject([{ project_id: 'shop' }]);
  expect(expectNoProblem(await genesis.sessions()).sessions.map((session) => session.session_id)).toContain(
    'sess-a',
  );
  expect(await genesis.closeSession('sess-a')).toMatchObject({ success: true });
});

test('manages the plan, tasks, limits and policy, and runs operator commands', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 1 }));
  expect(
    expectNoProblem(await genesis.addTasks([{ id: 'A-002-more', description: 'More' }])).task_count,
  ).toBe(2);
  const { version } = expectNoProblem(await genesis.plan());
  expect(await genesis.putPlan(planTextOf({ A: 1 }), { if_match: version + 1 })).toMatchObject({
    code: 'PLAN_CHANGED',
  });
  expect(expectNoProblem(await genesis.putLimits({ max_concurrent_claims: 7 })).max_concurrent_claims).toBe(
    7,
  );
  expect(expectNoProblem(await genesis.limits()).max_concurrent_claims).toBe(7);
  expect(expectNoProblem(await genesis.putPolicy({ max_attempts: 3 })).max_attempts).toBe(3);
  const holdReply = await genesis.operate('A-001-part', 'hold', {
    expected_generation: 0,
    reason: 'not yet',
  });
  expect(holdReply).toMatchObject({ success: true, readiness: 'held' });
  const claim = expectNoProblem(await genesis.claimTask({ ...AGENT, task_id: 'A-001-part' }));
  expect(claim).toMatchObject({ reason: 'DENIED_HELD', hold_reason: 'not yet' });
});

test('a malformed request returns a problem that names the field', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 1 }));
  const reply = await genesis.claimTask({ ...AGENT, task_id: 'no such id' });
  expect(reply).toMatchObject({ code: 'INVALID_REQUEST', status: 400, faults: [{ path: 'task_id' }] });
});

test('agent and session come from the environment if they are omitted', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 1 }));
  Object.assign(process.env, { GENESIS_AGENT: 'agent-env', GENESIS_SESSION: 'sess-env' });
  try {
    const { claim } = expectNoProblem(await genesis.claimTask({ task_id: 'A-001-part' }));
    expect(claim).toMatchObject({ agent_id: 'agent-env', session_id: 'sess-env' });
  } finally {
    delete process.env.GENESIS_AGENT;
    delete process.env.GENESIS_SESSION;
  }
});

// req: SDK-004
test.each(['lose_reply', 'lose_request'] as const)(
  'a call that is repeated after %s takes effect once',
  async (loss) => {
    const { genesis, direct, proxy } = await openClientHarness(planTextOf({ A: 1 }));
    let lost = 0;
    proxy.actionFor = () => (lost++ < 2 ? loss : 'pass');
    const reply = expectNoProblem(await genesis.claimTask({ ...AGENT, task_id: 'A-001-part' }));
    expect(reply).toMatchObject({ success: true, claim: { generation: 1 } });
    expect(proxy.requests).toHaveLength(3);
    const { events } = expectNoProblem(await direct.events({ type: 'CLAIM_ACQUIRED' }));
    expect(events).toHaveLength(1);
  },
);

describe('a busy server', () => {
  const busyReply = (retryAfter: string) => {
    const body = JSON.stringify({ code: 'RATE_LIMITED', detail: 'slow down', status: 429 });
    const head = `HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\nretry-after: ${retryAfter}\r\n`;
    return { answer: `${head}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}` };
  };

  // req: STO-016
  test('is called again after the time in Retry-After', async () => {
    const { genesis, proxy } = await openClientHarness(planTextOf({ A: 1 }));
    let requestCount = 0;
    proxy.actionFor = () => (++requestCount === 1 ? busyReply('0') : 'pass');
    expect(expectNoProblem(await genesis.task('A-001-part')).phase).toBe('OPEN');
    expect(requestCount).toBe(2);
  });

  test('is not called before the time in Retry-After, even if the retry limit ends first', async () => {
    const { client, proxy } = await openClientHarness(planTextOf({ A: 1 }));
    let requestCount = 0;
    proxy.actionFor = () => (++requestCount === 1 ? busyReply('60') : 'pass');
    const shortRetryClient = client({ retry: { within_seconds: 20 } });
    expect(await shortRetryClient.task('A-001-part')).toMatchObject({ code: 'RATE_LIMITED', status: 429 });
    expect(requestCount).toBe(1);
  });
});

test('a claim can be suspended for a review, decided on by a person, and resumed', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 1 }));
  const first = expectNoProblem(await genesis.next(AGENT));
  if (!first.success) throw new Error(first.reason);
  const { task_id, generation, id: claim_id, session_id } = first.claim;
  const handle = { task_id, session_id, claim_id, expected_generation: generation };
  const candidate_sha256 = 'a'.repeat(64);
  const suspended = await genesis.suspendClaim({ ...handle, iteration: 1, candidate_sha256 });
  expect(suspended).toMatchObject({ success: true, reason: 'SUSPENDED', until: expect.any(String) });
  expect(expectNoProblem(await genesis.status()).waiting).toMatchObject([
    { task_id, readiness: 'suspended' },
  ]);
  const body = { task_id, generation, iteration: 1, candidate_sha256, decision: 'APPROVED' } as const;
  expect(await genesis.review(body)).toMatchObject({ success: true });
  expect(await genesis.resumeClaim(handle)).toMatchObject({ success: true, reason: 'RESUMED' });
  expect(await genesis.resumeClaim({ ...handle, expected_generation: 7 })).toMatchObject({ success: false });
});

describe('an endless reply', () => {
  async function startEndless(contentType: string) {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': contentType });
      const block = Buffer.alloc(1024 * 1024, 'x');
      const writeBlocks = () => {
        while (response.writable && response.write(block));
      };
      response.on('drain', writeBlocks);
      writeBlocks();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => server.closeAllConnections());
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new Genesis({ url, project: 'shop', timeout_seconds: 300 });
  }

  test('is aborted at the size limit', async () => {
    const genesis = await startEndless('application/json');
    expect(await genesis.status()).toMatchObject({ code: 'REPLY_TOO_LARGE', status: 200 });
  });

  test('is aborted at the size limit of an event in a stream', async () => {
    const genesis = await startEndless('text/event-stream');
    await expect(genesis.follow().next()).rejects.toThrow('REPLY_TOO_LARGE');
  });
});

test('returns UNREACHABLE if no server was reached, and UNKNOWN if the request may have arrived', async () => {
  const { proxy, client } = await openClientHarness(planTextOf({ A: 1 }));
  const closedProxy = await startFaultyProxy({ port: 0 });
  await closedProxy.close();
  const unreachableClient = client({ url: closedProxy.url, retry: { tries: 2 } });
  const refused = { code: 'UNREACHABLE', status: 0, detail: expect.stringContaining('(ECONNREFUSED)') };
  expect(await unreachableClient.status()).toMatchObject(refused);
  const blockedPortClient = client({ url: 'http://127.0.0.1:1', retry: { tries: 2 } });
  expect(await blockedPortClient.status()).toMatchObject({ code: 'UNREACHABLE', status: 0 });
  proxy.actionFor = () => 'lose_reply';
  const reply = await client({ retry: { tries: 2 } }).claimTask({ ...AGENT, task_id: 'A-001-part' });
  expect(reply).toMatchObject({ code: 'UNKNOWN', detail: expect.stringContaining('The outcome is unknown') });
  const readReply = await client({ retry: { tries: 2 } }).status();
  expect(readReply).toMatchObject({
    code: 'UNKNOWN',
    detail: expect.stringContaining('Nothing was changed'),
  });
});

test('does not follow a redirect: no other host gets the token or the body', async () => {
  const visitedHosts: string[] = [];
  const startListening = async (location: string | null) => {
    const server = createServer((request, response) => {
      visitedHosts.push(`${request.headers.host}`);
      response.writeHead(location === null ? 200 : 307, location === null ? {} : { location }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const redirectTarget = await startListening(null);
  const url = await startListening(redirectTarget);
  const genesis = new Genesis({
    url,
    project: 'shop',
    token: 'gck_live_x',
    timeout_seconds: 600,
    retry: { tries: 1 },
  });
  const reply = await genesis.claimTask({ task_id: 'A-001-x', ...AGENT });
  expect(reply).toMatchObject({ code: 'HTTP_307' });
  expect(visitedHosts).toEqual([new URL(url).host]);
});

describe('a batch of claims where signatures are required', () => {
  async function openSigned(options: () => object) {
    const { client, direct } = await openClientHarness(planTextOf({ A: 1, B: 1, C: 1 }), {}, Genesis);
    expectNoProblem(await direct.putLimits({ require_signatures: true }));
    const claims = ['A', 'B', 'C'].map((track) => ({
      task_id: `${track}-001-part`,
      agent_id: `agent-${track}`,
      session_id: `sess-${track}`,
    }));
    return { direct, claims, genesis: client(options()) };
  }

  test.each(['partial', 'all_or_nothing'] as const)(
    'is signed claim by claim after the server refuses it unsigned (%s)',
    async (mode) => {
      const { privateKey } = generateKeyPairSync('ed25519');
      const { direct, claims, genesis } = await openSigned(() => ({
        find_signing_key: async () => privateKey,
      }));
      const options = { mode, request_id: 'batch-1' };
      const { results } = expectNoProblem(await genesis.batchClaim(claims, options));
      expect(results).toMatchObject([{ success: true }, { success: true }, { success: true }]);
      expect(await genesis.batchClaim(claims, options)).toEqual({ results });
      const { events } = expectNoProblem(await direct.events({ type: 'CLAIM_ACQUIRED' }));
      const texts = events.map(({ payload }) => String((payload as { signed_text?: string }).signed_text));
      // Signatures are verified concurrently, so the order of the grants can differ.
      expect(texts.map((text) => text.split('\n')[3]).sort()).toEqual(claims.map(({ task_id }) => task_id));
    },
  );

  test('is refused without a key', async () => {
    const { claims, genesis } = await openSigned(() => ({}));
    const { results } = expectNoProblem(await genesis.batchClaim(claims));
    const refused = { code: 'SIGNATURE_REQUIRED' };
    expect(results).toMatchObject([refused, refused, refused]);
    expect(await genesis.batchClaim(claims, { mode: 'all_or_nothing' })).toMatchObject(refused);
  });
});
