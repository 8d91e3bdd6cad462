import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runGen, startCommand } from '../../src/cli/testing/terminal.js';
import { Coordinator } from '../../src/coordinator/coordinator.js';
import { cursorAt } from '../../src/coordinator/queries/cursor.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { openFileStore } from '../../src/stores/file/file-store.js';
import { LogDamaged } from '../../src/stores/store.js';
import { planOf } from '../support/coordinator-harness.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/**
 * Who: someone with access to the disk of the embedded store, or a failing disk: a byte flips, a line is rewritten, a
 * file is truncated or missing.
 *
 * What they want: the server to accept the change, or to hide it behind other errors.
 *
 * What stops them: every line has a digest of its payload, and every block of lines has a seal that covers them and the
 * previous seal. The server and `gen verify` read with the same function. Requests that need a damaged log get 503
 * `LOG_DAMAGED`, with file and line, in its tenant only; standard error, `/readyz` and `/metrics` report the damage.
 *
 * Not defended: anyone who recomputes the seals of all later blocks can rewrite history. The chain has no secret.
 */

const A = 'A-001-core';
const B = 'B-001-data';
const GLOBEX_URL = '/api/tenants/globex/projects/shop';
const fileOf = (testServer: TestServer): string => join(testServer.folder, 'acme', 'shop', 'events.jsonl');

/** A server with work of two tenants. */
async function startWithWork(): Promise<TestServer> {
  const testServer = await TestServer.forTest();
  await testServer.putPlan(A, B);
  const handle = await testServer.claim(A);
  await testServer.post(`${PROJECT_URL}/results`, { ...handle, result_data: { secret: 'plan' } });
  await testServer.claim(B);
  await testServer.request('PUT', `${GLOBEX_URL}/plan`, planOf(A));
  return testServer;
}

/** Changes a file of the log while the server is stopped. */
async function tamper(testServer: TestServer, change: (text: string) => string): Promise<void> {
  await testServer.running.stop();
  const text = await readFile(fileOf(testServer), 'latin1');
  const changed = change(text);
  expect(changed).not.toBe(text);
  await writeFile(fileOf(testServer), changed, 'latin1');
  await testServer.restart();
}

const lineOf = (text: string, part: string): number => text.slice(0, text.indexOf(part)).split('\n').length;

/** The numbers, from 1, of the first and the last line of the block that contains this string. The last is its seal. */
function blockOf(text: string, part: string): { first: number; last: number } {
  const lines = text.split('\n');
  const at = lineOf(text, part) - 1;
  const isSeal = (line: string) => line.startsWith('{"seal":');
  return {
    first: lines.slice(0, at).findLastIndex(isSeal) + 2,
    last: lines.findIndex((line, index) => index > at && isSeal(line)) + 1,
  };
}

describe('a flipped byte in the log of one tenant', () => {
  it('gives 503 LOG_DAMAGED with file and line on every call of that tenant, without absolute paths', async () => {
    const testServer = await startWithWork();
    const { first: line } = blockOf(await readFile(fileOf(testServer), 'latin1'), '"CLAIM_ACQUIRED"');
    await tamper(testServer, (text) => text.replace('"CLAIM_ACQUIRED"', '"CLAIM_ACQUIREE"'));
    const calls = [
      testServer.get(`${PROJECT_URL}/status`),
      testServer.get(`${PROJECT_URL}/events`),
      testServer.get(`${PROJECT_URL}/tasks/${B}`),
      testServer.get(`${PROJECT_URL}/events/stream`),
      testServer.get('/api/tenants/acme/projects'),
      testServer.get('/api/tenants/acme/projects/other/status'),
      testServer.post(`${PROJECT_URL}/claims`, { task_id: B, agent_id: 'b', session_id: 's2' }),
      testServer.post(`${PROJECT_URL}/next`, { agent_id: 'b', session_id: 's2', wait_seconds: 1 }),
      testServer.request('PUT', `${PROJECT_URL}/plan`, planOf(A)),
      testServer.request('PUT', `${PROJECT_URL}/blobs/${'0'.repeat(64)}`, new Uint8Array([1])),
    ];
    for (const { status, headers, body } of await Promise.all(calls)) {
      expect([status, headers.get('content-type')]).toEqual([503, 'application/problem+json']);
      expect(body).toMatchObject({ code: 'LOG_DAMAGED', faults: [{ file: 'acme/shop/events.jsonl', line }] });
      expect(JSON.stringify(body)).not.toContain(testServer.folder);
    }
  });

  it('does not affect other tenants, and is reported by /readyz and /metrics', async () => {
    const testServer = await startWithWork();
    await tamper(testServer, (text) => text.replace('"CLAIM_ACQUIRED"', '"CLAIM_ACQUIREE"'));
    const claim = { task_id: A, agent_id: 'b', session_id: 's2' };
    expect((await testServer.post(`${GLOBEX_URL}/claims`, claim)).body).toMatchObject({ success: true });
    const ready = await testServer.get('/readyz');
    expect([ready.status, ready.body]).toEqual([200, { status: 'ready', damaged_logs: 1 }]);
    expect((await testServer.get('/metrics')).body).toContain(
      'coditect_log_damaged{tenant="acme",project="shop"} 1',
    );
  });

  it('makes the server not ready if it has no other tenant to serve', async () => {
    const testServer = await TestServer.forTest();
    await testServer.putPlan(A);
    // The logs of projects without claims are read when they are used.
    await testServer.claim(A);
    expect((await testServer.get('/readyz')).body).toEqual({ status: 'ready' });
    await tamper(testServer, (text) => text.replace('"PLAN_CHANGED"', '"PLAN_CHANGEE"'));
    const ready = await testServer.get('/readyz');
    expect([ready.status, ready.body.code]).toEqual([503, 'UNAVAILABLE']);
    expect(ready.body.detail).not.toMatch(/acme|shop|\/tmp/);
  });

  it('is reported on standard error by gen up, which starts and serves the other tenants', async () => {
    const testServer = await startWithWork();
    const { first, last } = blockOf(await readFile(fileOf(testServer), 'latin1'), '"CLAIM_ACQUIRED"');
    await tamper(testServer, (text) => text.replace('"CLAIM_ACQUIRED"', '"CLAIM_ACQUIREE"'));
    await testServer.running.stop();
    const store = `file:${testServer.folder}`;
    const up = startCommand({ cwd: await temporaryFolder() }, 'up', '--port', '0', '--store', store);
    const errorOutput = await up.waitForErrorOutput(
      `acme/shop/events.jsonl, lines ${first} to ${last}: the seal does not match`,
    );
    expect(errorOutput).toContain('The tenant acme is not served');
    await up.waitForOutput('is listening at');
    up.stop('SIGTERM');
    expect((await up.ended).code).toBe(0);
    const verified = await runGen({ cwd: testServer.folder }, 'verify', testServer.folder);
    expect(verified.out).toContain(`events.jsonl:${first}-${last}: CHAIN`);
    await testServer.restart();
  });

  it('prevents the server from starting if that log is the key log', async () => {
    const testServer = await TestServer.forTest();
    await testServer.post('/api/tenants/acme/keys', { role: 'operator' });
    await testServer.running.stop();
    const file = join(testServer.folder, '_genesis', '_tenant', 'events.jsonl');
    const text = await readFile(file, 'latin1');
    await writeFile(file, text.replace('"operator"', '"operatoR"'), 'latin1');
    await expect(testServer.restart()).rejects.toBeInstanceOf(LogDamaged);
    await writeFile(file, text, 'latin1');
    await testServer.restart();
  });
});

describe('a payload that was rewritten', () => {
  it('is detected, because no event of the log records it as a redaction', async () => {
    const testServer = await startWithWork();
    const line = lineOf(await readFile(fileOf(testServer), 'latin1'), '"result_data":{"secret"');
    await tamper(testServer, (text) =>
      text.replace(/"result_data":\{"secret":"plan"\}(.*?)\}\n/, '"result_data":{"secret":"no"}$1  }\n'),
    );
    // The damage is known before any request reads that line, because heads are folded from it.
    expect((await testServer.get('/readyz')).body).toMatchObject({ damaged_logs: 1 });
    const { status, body } = await testServer.get(`${PROJECT_URL}/tasks/${A}/results`);
    expect([status, body.code]).toEqual([503, 'LOG_DAMAGED']);
    expect(body.faults).toEqual([expect.objectContaining({ file: 'acme/shop/events.jsonl', line })]);
    const verified = await runGen({ cwd: testServer.folder }, 'verify', testServer.folder);
    expect(verified.out).toContain(`events.jsonl:${line}: CHAIN: its payload was changed`);
  });

  it('is detected when it is read if a snapshot kept the server from reading it at startup', async () => {
    const { root, key, position } = await createSnapshottedLog();
    const file = join(root, key.tenant_id, key.project_id, 'segments', '000000000001.jsonl');
    const text = await readFile(file, 'latin1');
    await writeFile(file, text.replace(/"text":"note 1"(.*?)\}\n/, '"text":"other"$1 }\n'), 'latin1');
    const store = await openFileStore({ root });
    onTestFinished(() => store.close());
    const coordinator = await Coordinator.open({ store });
    onTestFinished(() => coordinator.close());
    expect(await coordinator.feed.page(key, { limit: 100 })).toMatchObject({ problem: 'LOG_DAMAGED' });
    expect(store.damage()).toMatchObject([{ ...key, line: expect.any(Number), isServed: true }]);
    // Heads are in memory and were checked with the snapshot, so work continues until the file is repaired.
    const handle = { task_id: A, session_id: 's', generation: 1 };
    expect(await coordinator.holder.submitResult(key, { ...handle, result_data: 1 })).toMatchObject({
      accepted: true,
    });
    expect((await store.project(key))?.position).toBeGreaterThan(position);
  });
});

/** A log whose first lines are in a closed segment before a snapshot. */
async function createSnapshottedLog(): Promise<{ root: string; key: typeof SHOP; position: number }> {
  const root = await temporaryFolder();
  const store = await openFileStore({ root, segment_bytes_max: 4096 });
  const coordinator = await Coordinator.open({ store });
  await coordinator.plans.put(SHOP, planOf(A));
  const claim = { task_id: A, agent_id: 'a', session_id: 's' };
  await coordinator.claims.claimTask(SHOP, claim);
  for (let count = 0; count < 60; count += 1) {
    const handle = { task_id: A, session_id: 's', generation: 1 };
    await coordinator.holder.note(SHOP, { ...handle, text: `note ${count}` });
  }
  const position = (await store.project(SHOP))?.position ?? 0;
  coordinator.close();
  await store.close();
  expect(await readdir(join(root, 'acme', 'shop', 'snapshots'))).not.toEqual([]);
  return { root, key: SHOP, position };
}
const SHOP = { tenant_id: 'acme', project_id: 'shop' };

describe('a log line of a running server', () => {
  it.each([
    ['truncated at the end of the file', (text: string) => text.slice(0, -40)],
    ['changed', (text: string) => text.replace('"secret":"plan"', '"secret":"nalp"')],
    ['swapped with another', (text: string) => swapFirstLines(text)],
  ])('is never silently left out of a reply if it was %s', async (_, change) => {
    const testServer = await startWithWork();
    const before = await testServer.get(`${PROJECT_URL}/events`);
    const text = await readFile(fileOf(testServer), 'latin1');
    await writeFile(fileOf(testServer), change(text), 'latin1');
    const { status, body } = await testServer.get(`${PROJECT_URL}/events`);
    expect([status, body.code]).toEqual([503, 'LOG_DAMAGED']);
    expect((await testServer.get('/metrics')).body).toContain(
      'coditect_log_damaged{tenant="acme",project="shop"} 1',
    );
    await writeFile(fileOf(testServer), text, 'latin1');
    const { events } = (await testServer.get(`${PROJECT_URL}/events`)).body as { events: EventEnvelope[] };
    expect(events).toEqual(before.body.events);
  });
});

/** Swaps the first two lines. */
function swapFirstLines(text: string): string {
  const lines = text.split('\n');
  const [first = '', second = ''] = lines;
  return [second, first, ...lines.slice(2)].join('\n');
}

describe('a cursor beyond the end of the log', () => {
  it('gets 409 CURSOR_AHEAD with the last position, on pages, streams and views', async () => {
    const testServer = await startWithWork();
    const { position } = (await testServer.get(`${PROJECT_URL}/status`)).body;
    const ahead = cursorAt(position + 5);
    const calls = [
      testServer.get(`${PROJECT_URL}/events?after=${ahead}`),
      testServer.get(`${PROJECT_URL}/events?after=${ahead}&type=CLAIM_ACQUIRED`),
      testServer.get(`${PROJECT_URL}/events/stream?after=${ahead}`),
      testServer.request('GET', `${PROJECT_URL}/events/stream`, undefined, { 'last-event-id': ahead }),
      testServer.get(`${PROJECT_URL}/status?at=${position + 5}`),
      testServer.get(`${PROJECT_URL}/agents?at=${position + 5}`),
    ];
    for (const { status, body } of await Promise.all(calls)) {
      expect([status, body.code]).toEqual([409, 'CURSOR_AHEAD']);
      expect(body.detail).toContain(`position ${position + 5} is beyond the end of the log at ${position}`);
    }
  });

  it('is distinguished from a cursor at the end, which is valid', async () => {
    const testServer = await startWithWork();
    const { position } = (await testServer.get(`${PROJECT_URL}/status`)).body;
    const page = await testServer.get(`${PROJECT_URL}/events?after=${cursorAt(position)}`);
    expect([page.status, page.body.events]).toEqual([200, []]);
    expect((await testServer.get(`${PROJECT_URL}/status?at=${position}`)).status).toBe(200);
    const leaveController = new AbortController();
    const stream = await fetch(`${testServer.url}${PROJECT_URL}/events/stream?after=${cursorAt(position)}`, {
      signal: leaveController.signal,
    });
    expect(stream.status).toBe(200);
    leaveController.abort();
  });

  it('is reported to a reader that returns after the log was restored from a backup', async () => {
    const testServer = await startWithWork();
    await testServer.running.stop();
    const copy = await readFile(fileOf(testServer));
    await testServer.restart();
    await testServer.post(`${PROJECT_URL}/claims`, { task_id: B, agent_id: 'b', session_id: 's9' });
    const { next } = (await testServer.get(`${PROJECT_URL}/events`)).body;
    await testServer.running.stop();
    await writeFile(fileOf(testServer), copy);
    // As in a backup of the whole folder: the record of the durable position is as old as the log.
    await writeFile(join(testServer.folder, 'acme', 'shop', 'durable'), '');
    await testServer.restart();
    const { status, body } = await testServer.get(`${PROJECT_URL}/events?after=${next}`);
    expect([status, body.code]).toEqual([409, 'CURSOR_AHEAD']);
  });
});
