import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AutoRenewingClient } from './auto-renewing-client.js';

const LEASE_SECONDS = 300;
const HOUR_MS = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A client whose server grants everything, and the number of renewals that it got. */
function connectClient(renewForSeconds?: number) {
  let renewals = 0;
  const claim = {
    id: 'clm',
    task_id: 'A-001-x',
    session_id: 's1',
    generation: 1,
    lease_duration_seconds: LEASE_SECONDS,
  };
  const fetch = async ({ url }: Request): Promise<Response> => {
    if (!url.endsWith('/claims/renew')) return Response.json({ success: true, reason: 'GRANTED', claim });
    renewals += 1;
    return Response.json({ success: true, reason: 'RENEWED', new_expiry: new Date().toISOString() });
  };
  const client = new AutoRenewingClient({ url: 'http://127.0.0.1', project: 'p', fetch }, renewForSeconds);
  return { client, renewals: () => renewals };
}

it('stops renewing two hours after the last call', async () => {
  const { client, renewals } = connectClient();
  await client.next({ agent_id: 'a', session_id: 's1' });
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  const inFirstHour = renewals();
  expect(inFirstHour).toBeGreaterThan(10);
  client.recordCall();
  await vi.advanceTimersByTimeAsync(1.9 * HOUR_MS);
  expect(renewals()).toBeGreaterThan(2 * inFirstHour);
  await vi.advanceTimersByTimeAsync(0.2 * HOUR_MS);
  const atEnd = renewals();
  await vi.advanceTimersByTimeAsync(24 * HOUR_MS);
  expect(renewals()).toBe(atEnd);
  client.stop();
});

it('renews for the given time after the last call', async () => {
  const { client, renewals } = connectClient(LEASE_SECONDS);
  await client.next({ agent_id: 'a', session_id: 's1' });
  await vi.advanceTimersByTimeAsync(HOUR_MS);
  expect(renewals()).toBe(2);
  client.stop();
});
