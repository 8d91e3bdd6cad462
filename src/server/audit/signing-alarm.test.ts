import { expect, it, vi } from 'vitest';
import { newPrivateKey } from '../private-key-file.js';
import { TestServer } from '../testing/test-server.js';
import { signerOf } from './audit-key.js';

it('a signer that fails is counted in /readyz and /metrics until it signs', async () => {
  const working = signerOf(newPrivateKey());
  let isDown = true;
  const signer = {
    ...working,
    sign: (text: string) => (isDown ? Promise.reject(new Error('no')) : working.sign(text)),
  };
  const testServer = await TestServer.forTest({ audit: { signer, every_ms: 10 } });
  await testServer.putPlan('A-001-x');
  const readReadiness = async () => (await testServer.get('/readyz')).body;
  const readMetrics = async () => String((await testServer.get('/metrics')).body);
  const soon = { timeout: 10_000, interval: 50 };
  await vi.waitFor(
    async () => expect(await readReadiness()).toEqual({ status: 'ready', audit_alarms: 1 }),
    soon,
  );
  expect(await readMetrics()).toMatch(/audit_alarms\{.*shop.*\} 1/);
  isDown = false;
  await vi.waitFor(async () => expect(await readReadiness()).toEqual({ status: 'ready' }), soon);
  expect(await readMetrics()).not.toMatch(/audit_alarms\{/);
});
