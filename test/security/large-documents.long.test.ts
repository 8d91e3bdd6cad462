/** The attack of `large-documents.test.ts` over HTTP, with documents that take seconds of processor time to read. */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as texts from '../../bench/formats/texts.js';
import { ThreadedDocumentReader } from '../../src/coordinator/documents/documents.js';
import { PROJECT_URL, TestServer } from '../../src/server/testing/test-server.js';

const CONCURRENT_DOCUMENTS = 4;
const CALLS = 5;
const LENGTH = 100_000;

const initBody = (): string => {
  const files = texts.workspaceFiles(LENGTH, 30_000);
  return JSON.stringify({ project_id: 'shop', files });
};

const DOCUMENTS: readonly (readonly [
  title: string,
  method: string,
  path: string,
  type: string,
  body: () => string,
])[] = [
  [
    'a YAML plan with an error in each line',
    'PUT',
    `${PROJECT_URL}/plan`,
    'yaml',
    () => texts.unknownFields(LENGTH),
  ],
  ['a YAML plan of commas only', 'PUT', `${PROJECT_URL}/plan`, 'yaml', () => texts.badCommas(LENGTH)],
  ['a valid YAML plan', 'PUT', '/api/tenants/acme/projects/other/plan', 'yaml', () => texts.planYaml(LENGTH)],
  ['a workspace', 'POST', '/api/init', 'json', initBody],
];

describe('while a hostile document is read', () => {
  let testServer: TestServer;
  let handle: object;
  beforeAll(async () => {
    testServer = await TestServer.start();
    await testServer.putPlan('A-001-x');
    const { generation, ...held } = await testServer.claim('A-001-x');
    handle = { ...held, expected_generation: generation };
  });
  afterAll(() => testServer.remove());

  const send = (method: string, path: string, type: string, body: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': `application/${type}` };
      const clientRequest = request(
        testServer.running.url + path,
        { method, headers, agent: false },
        (reply) => {
          reply.resume().on('end', () => resolve(reply.statusCode ?? 0));
        },
      );
      clientRequest.on('error', reject).end(body);
    });

  test.each(DOCUMENTS)(
    '%s does not delay a renewal or a health check',
    async (_, method, path, type, body) => {
      const order: string[] = [];
      const text = body();
      const hostile = Array.from({ length: CONCURRENT_DOCUMENTS }, async () => {
        await send(method, path, type, text);
        order.push('document');
      });
      for (let call = 0; call < CALLS; call += 1) {
        expect((await testServer.request('GET', '/healthz')).status).toBe(200);
        expect((await testServer.request('POST', `${PROJECT_URL}/claims/renew`, handle)).status).toBe(200);
        order.push('renewed');
      }
      await Promise.all(hostile);
      expect(order.slice(-1)).toEqual(['document']);
    },
  );
});

describe('a document that exceeds its memory limit', () => {
  const limits = { ms_max: 600_000, heap_mb_max: 768, queued_max: 4, idle_ms: 60_000 };
  const validDocument = {
    kind: 'plan',
    form: 'json',
    text: '{"tracks":{"A":[{"id":"A-001-x","description":"d"}]}}',
  } as const;
  const hostile = () => ({ kind: 'plan', form: 'yaml', text: texts.unknownFields(1_500_000) }) as const;

  test('is refused, and the next document is read', async () => {
    const documents = new ThreadedDocumentReader({ ...limits, heap_mb_max: 24 });
    expect(await documents.read('acme', hostile())).toMatchObject({
      problem: 'INVALID_REQUEST',
      detail: expect.stringContaining('24 MB'),
    });
    expect(await documents.read('acme', validDocument)).toMatchObject({ kind: 'plan' });
    documents.close();
  });
});
