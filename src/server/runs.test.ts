import { expect, test } from 'vitest';
import { featureFile } from '../../test/support/workspace-files.js';
import { EventStreamClient } from './testing/event-stream-client.js';
import { TestServer } from './testing/test-server.js';

const FEATURE = 'REQ-F-A';
const EDGE = { project_id: 'shop', feature_id: FEATURE, edge: 'design_code' };
const FILES = {
  'engine.yml': 'construct: { type: command, command: [make] }\n',
  [`features/active/${FEATURE}.yml`]: featureFile(FEATURE),
};

test('runs are requested, listed, shown and cancelled over HTTP, and their events are on the stream', async () => {
  const testServer = await TestServer.forTest();
  expect((await testServer.post('/api/init', { project_id: 'shop', files: FILES })).status).toBe(200);
  const dry = await testServer.post('/api/iterate', { ...EDGE, dry_run: true });
  expect(dry.body).toMatchObject({ reason: 'DRY_RUN', machine: { StartAt: 'ClaimEdge' } });
  const requested = await testServer.post('/api/iterate', EDGE);
  expect(requested.body).toMatchObject({ success: true, reason: 'REQUESTED' });
  const { run_id } = requested.body.run;

  const listed = await testServer.get('/api/runs?project_id=shop&status=REQUESTED&limit=1');
  expect(listed.body).toMatchObject({ runs: [{ run_id, task_id: `${FEATURE}#design_code` }], next: null });
  const shown = await testServer.get(`/api/runs/${run_id}?project_id=shop`);
  expect(shown.body).toMatchObject({ run: { run_id, status: 'REQUESTED', steps: [] }, omitted_steps: 0 });
  const unknown = await testServer.get('/api/runs/0199c1de-0000-7000-8000-000000000001?project_id=shop');
  expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND']);
  const spent = await testServer.get('/api/spent?project_id=shop');
  expect(spent.body.spent).toMatchObject({ features: {}, project: { usd: 0 }, tenant: { usd: 0 } });

  const cancel = () => testServer.post(`/api/runs/${run_id}/cancel`, { project_id: 'shop', comment: 'no' });
  expect((await cancel()).body).toMatchObject({ reason: 'CANCELLED', run: { status: 'CANCELLED' } });
  const again = await cancel();
  expect([again.status, again.body.reason]).toEqual([409, 'RUN_ENDED']);

  const { position } = (await testServer.get('/api/runs?project_id=shop')).body;
  const listener = EventStreamClient.open(
    testServer.running.port,
    '/api/tenants/default/projects/shop/events/stream',
  );
  let received = '';
  listener.socket.on('data', (chunk) => {
    received += String(chunk);
  });
  await listener.waitUntil(() => listener.positions.includes(position));
  expect(received).toContain('"run_requested"');
  expect(received).toContain('"run_ended"');
});
