import { connect } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { P, Served, T } from '../testing/served.js';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** A server with an admin's key and an agent's. */
async function guarded() {
  const served = await Served.forTest();
  await served.plan('A-001-x');
  const admin = bearer((await served.post(`${T}/keys`, { role: 'admin' })).body.token);
  const { body: agent } = await served.ask('POST', `${T}/keys`, { role: 'agent' }, admin);
  const revoke = () => served.ask('DELETE', `${T}/keys/${agent.key_id}`, undefined, admin);
  return { served, admin, agent, revoke };
}

/** The end of what a socket is told. */
function heard(port: number, text: string) {
  const socket = connect(port, '127.0.0.1', () => socket.write(text));
  onTestFinished(() => void socket.destroy());
  let said = '';
  const begun = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      said += chunk;
      resolve();
    });
  });
  return { socket, begun, ended: new Promise<string>((resolve) => socket.on('close', () => resolve(said))) };
}

test('a stream ends at the first heartbeat after its key was revoked, and the others go on', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { served, admin, agent, revoke } = await guarded();
  const listen = (token: string) =>
    heard(
      served.running.port,
      `GET ${P}/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
  const [theirs, other] = [listen(agent.token), listen(admin.authorization.slice('Bearer '.length))];
  await Promise.all([theirs.begun, other.begun]);
  await revoke();
  vi.advanceTimersByTime(15_000);
  expect(await theirs.ended).toMatch(/still here/);
  expect(other.socket.closed).toBe(false);
});

test('a key that is revoked while its request still arrives opens nothing', async () => {
  const { served, agent, revoke } = await guarded();
  const body = JSON.stringify({ task_id: 'A-001-x', agent_id: 'a', session_id: 's' });
  const head = `POST ${P}/claims HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer ${agent.token}\r\n`;
  const slow = heard(served.running.port, `${head}Content-Length: ${body.length}\r\n\r\n{`);
  const reading = vi.spyOn(performance, 'now');
  onTestFinished(() => reading.mockRestore());
  await revoke();
  const now_ms = performance.now();
  reading.mockImplementation(() => now_ms + 10_000);
  slow.socket.write(body.slice(1));
  expect(await slow.ended).toMatch(/^HTTP\/1\.1 401 /);
});
