/**
 * Who: an agent or a tenant's admin, with many connections that send large results slowly and never finish. The admin
 * has raised `max_result_size_bytes` to its maximum before.
 *
 * What they want: to use up the server's memory, or to keep others from sending anything.
 *
 * The same with responses: a viewer who requests large blobs and reads none of them. Or bodies in chunks of one byte,
 * each of which took hundreds of bytes of memory and microseconds of the processor.
 *
 * What stops them: bodies in progress share a fixed amount of memory (`body_memory_bytes`), of which one tenant may use
 * half and one credential a quarter. Beyond that a request gets 503. The first 64 KiB of a body are not counted, so
 * commands pass. A result may have at most 256 MiB, whatever an admin sets.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { OPEN_PRINCIPAL } from '../../src/server/auth/principal.js';
import { BodyMemory, BodyReservation } from '../../src/server/body-memory.js';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import { bearer } from '../support/bearer.js';

const MIB = 1024 ** 2;
const SHA = '0'.repeat(64);
const agentOf = (tenant_id: string, id: string) => ({ ...OPEN_PRINCIPAL, tenant_id, id });

test('a credential may use a quarter of the memory, a tenant half of it, and all tenants together all of it', () => {
  const memory = new BodyMemory(8 * MIB);
  const grow = (tenant: string, id: string, bytes: number): boolean =>
    new BodyReservation(memory, agentOf(tenant, id)).grow(bytes);
  expect(grow('acme', 'key-1', 2 * MIB)).toBe(true);
  expect(grow('acme', 'key-1', MIB)).toBe(false);
  expect(grow('acme', 'key-2', 2 * MIB)).toBe(true);
  expect(grow('acme', 'key-3', MIB)).toBe(false);
  expect(grow('globex', 'key-4', 2 * MIB)).toBe(true);
  expect(grow('globex', 'key-5', 2 * MIB)).toBe(true);
  expect(grow('initech', 'key-6', MIB)).toBe(false);
  expect(grow('initech', 'key-6', 64 * 1024)).toBe(true);
});

test('the memory of a body is free again with its response', () => {
  const memory = new BodyMemory(4 * MIB);
  const first = new BodyReservation(memory, agentOf('acme', 'key-1'));
  expect([first.grow(MIB / 2), first.grow(MIB)]).toEqual([true, true]);
  const second = new BodyReservation(memory, agentOf('acme', 'key-1'));
  expect(second.grow(MIB)).toBe(false);
  first.release();
  expect(second.grow(MIB)).toBe(true);
});

/** Sends the head of an upload and a part of its body, and resolves with the first line of a response. */
function upload(port: number, token: string, sentBytes: number): { socket: Socket; reply: Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(
    `PUT ${PROJECT_URL}/blobs/${SHA} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/octet-stream\r\ncontent-length: ${2 * MIB}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(sentBytes));
  const reply = new Promise<string>((resolve) => {
    socket.once('data', (bytes) => resolve(String(bytes).split('\r\n')[0] ?? ''));
  });
  return { socket, reply };
}

test('unfinished uploads are refused at the limit, while commands and other credentials are served', async () => {
  const testServer = await TestServer.forTest({ body_memory_bytes: 8 * MIB });
  await testServer.putPlan('A-001-core');
  const admin = (await testServer.post(`${TENANT_URL}/keys`, { role: 'admin' })).body;
  const headers = bearer(admin.token);
  const create = async () =>
    (await testServer.request('POST', `${TENANT_URL}/keys`, { role: 'agent' }, headers)).body.token as string;
  const [attacker, colleague] = [await create(), await create()];
  const { port } = testServer.running;
  const uploads = [1, 2, 3].map(() => upload(port, attacker, MIB));
  expect(await Promise.race(uploads.map(({ reply }) => reply))).toContain('503');
  const claim = { task_id: 'A-001-core', agent_id: 'worker', session_id: 's1' };
  const claimed = await testServer.request('POST', `${PROJECT_URL}/claims`, claim, bearer(attacker));
  expect(claimed.body.reason).toBe('GRANTED');
  const other = upload(port, colleague, MIB);
  other.socket.write(Buffer.alloc(MIB));
  // The body arrived as a whole. It is refused because its digest differs, not for lack of memory.
  expect(await other.reply).toMatch(/ 4\d\d /);
});

test('a response that nobody reads keeps its memory, and others are refused at the limit', async () => {
  const testServer = await TestServer.forTest({ body_memory_bytes: 64 * MIB });
  // The blob is larger than what the socket buffers of both ends can take.
  const blob = Buffer.alloc(12 * MIB, 'x');
  const sha256 = createHash('sha256').update(blob).digest('hex');
  const path = `${PROJECT_URL}/blobs/${sha256}`;
  const url = `${testServer.url}${path}`;
  expect((await fetch(url, { method: 'PUT', body: blob })).status).toBeLessThan(300);
  const unread = connect(testServer.running.port, '127.0.0.1');
  onTestFinished(() => void unread.destroy());
  unread.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await once(unread, 'readable');
  const statusOf = async (): Promise<number> => {
    const { status, body } = await fetch(url);
    await body?.cancel();
    return status;
  };
  expect(await statusOf()).toBe(503);
  unread.destroy();
  while ((await statusOf()) !== 200);
});

test('the bytes of a reply are counted, not its characters', async () => {
  const testServer = await TestServer.forTest({ body_memory_bytes: 4 * MIB });
  await testServer.putPlan('A-001-core');
  for (const track of ['B', 'C', 'D']) {
    const tasks = Array.from({ length: 100 }, (_, index) => ({
      id: `${track}-${String(index + 1).padStart(3, '0')}-more`,
      description: '\u4e2d'.repeat(1_900),
    }));
    expect((await testServer.post(`${PROJECT_URL}/tasks`, { tasks })).status).toBe(200);
  }
  // 570,000 characters are 1.7 MB, more than a quarter of the memory.
  expect((await testServer.requestOverSocket('GET', `${PROJECT_URL}/plan`)).status).toBe(503);
});

test('a blob is not read before there is memory for it', async () => {
  let readCount = 0;
  const blobs = {
    put: async () => {},
    size: async () => 2 * MIB,
    get: async () => {
      readCount += 1;
      return Buffer.alloc(2 * MIB);
    },
  };
  const testServer = await TestServer.forTest({ body_memory_bytes: 4 * MIB, blobs });
  const { status } = await fetch(`${testServer.url}${PROJECT_URL}/blobs/${SHA}`);
  expect([status, readCount]).toEqual([503, 0]);
});

test('a body in chunks of one byte is cut off', async () => {
  const testServer = await TestServer.forTest();
  const socket = connect(testServer.running.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(
    `PUT ${PROJECT_URL}/blobs/${SHA} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  socket.write('1\r\nx\r\n'.repeat(10_000));
  socket.resume();
  await closed;
});

test('an admin cannot raise the size of a result beyond what the server can hold', async () => {
  const testServer = await TestServer.forTest();
  const put = (max_result_size_bytes: number) =>
    testServer.request('PUT', `${TENANT_URL}/limits`, { max_result_size_bytes });
  expect((await put(256 * MIB)).status).toBe(200);
  const refused = await put(256 * MIB + 1);
  expect([refused.status, refused.body.code]).toEqual([400, 'INVALID_REQUEST']);
});
