/**
 * Who: anyone who can send a request or drop a file, where a proxy, a gateway or a reviewer reads the same text before
 * the server.
 *
 * What they want: one JSON document that two programs read differently. `{"task_id": "harmless", "task_id": "A-001-x"}`
 * passes a filter that keeps the first member, but takes effect with the last one, which `JSON.parse` keeps.
 *
 * What stops them: one strict parser (`src/core/strict-json.ts`) for HTTP, MCP, inbox files and manifests. A duplicate
 * name in an object is refused, the refusal names it, and nothing happens. More than 50,000 objects and arrays in one
 * command are refused too: parsing a megabyte of them would delay the renewals of others by half a second.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StrictJsonLines } from '../../src/cli/mcp/strict-json-lines.js';
import { parseResultBlob } from '../../src/core/methodology/definition/manifest.js';
import { PROJECT_URL, TENANT_URL, TestServer } from '../../src/server/testing/test-server.js';
import {
  bareWorkspace,
  EDGE,
  FEATURE,
  WorkspaceHarness,
} from '../../src/workspace/testing/workspace-harness.js';

const twice = (name: string, more = ''): string => `{"${name}":"x",${more}"${name}":"y"}`;

describe('over HTTP', () => {
  let testServer: TestServer;
  beforeAll(async () => {
    testServer = await TestServer.start();
    await testServer.putPlan('A-001-x', 'B-001-y');
  });
  afterAll(() => testServer.remove());

  const json = { 'content-type': 'application/json' };

  test('a result of very many arrays is refused, and one of very many numbers is not', async () => {
    const { generation, ...handle } = await testServer.claim('B-001-y');
    const submit = (result_data: unknown) =>
      testServer.post(`${PROJECT_URL}/results`, { ...handle, generation, result_data });
    const refused = await submit(Array(100_000).fill([1]));
    expect([refused.status, refused.body.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(refused.body.detail).toContain('objects and arrays');
    expect((await submit(Array(100_000).fill(1))).body.reason).toBe('ACCEPTED');
  });

  test.each([
    [
      'POST',
      `${PROJECT_URL}/claims`,
      '{"task_id":"A-001-x","agent_id":"a","session_id":"s","task_id":"A-001-x"}',
      'task_id',
    ],
    [
      'POST',
      `${PROJECT_URL}/claims/batch`,
      '{"claims":[{"task_id":"A-001-x","agent_id":"a","agent_id":"b"}]}',
      'agent_id',
    ],
    ['POST', `${PROJECT_URL}/results`, '{"task_id":"A-001-x","result_data":{"deep":[{"k":1,"k":2}]}}', 'k'],
    ['PUT', `${PROJECT_URL}/plan`, '{"tracks":{"A":[]},"tracks":{}}', 'tracks'],
    ['PUT', `${PROJECT_URL}/policy`, twice('stale_policy'), 'stale_policy'],
    ['POST', `${PROJECT_URL}/events/import`, twice('events'), 'events'],
    ['POST', `${TENANT_URL}/keys`, '{"role":"viewer","role":"admin"}', 'role'],
    ['POST', '/api/init', twice('project_id'), 'project_id'],
    [
      'POST',
      '/mcp/acme/shop',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}',
      'method',
    ],
  ])('%s %s with a duplicate name is refused, and the error names it', async (method, path, body, name) => {
    const reply = await testServer.request(method, path, body, json);
    expect([reply.status, reply.body.code]).toEqual([400, 'INVALID_REQUEST']);
    expect(reply.body.detail).toContain(JSON.stringify(name));
    const { body: state } = await testServer.get(`${PROJECT_URL}/tasks/A-001-x`);
    expect(state).toMatchObject({ generation: 0, claim: null });
  });

  test('a name that is spelled with an escape counts as the same name', async () => {
    const body = '{"task_id":"A-001-x","agent_id":"a","session_id":"s","\\u0074ask_id":"A-001-x"}';
    expect((await testServer.request('POST', `${PROJECT_URL}/claims`, body, json)).body.code).toBe(
      'INVALID_REQUEST',
    );
  });

  test('__proto__ is refused as an unknown field, and twice as a duplicate name', async () => {
    const once = await testServer.request(
      'POST',
      `${PROJECT_URL}/claims`,
      '{"__proto__":{"task_id":"A-001-x"}}',
      json,
    );
    const both = await testServer.request(
      'POST',
      `${PROJECT_URL}/claims`,
      '{"__proto__":{},"__proto__":{}}',
      json,
    );
    expect([once.status, both.status]).toEqual([400, 400]);
    expect(both.body.detail).toContain('occurs twice');
  });
});

test('a duplicate name over MCP on standard input gets an error and reaches no tool', async () => {
  const replies: string[] = [];
  const input = new PassThrough();
  const filtered = input.pipe(new StrictJsonLines((line) => replies.push(line)));
  const good = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const bad = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"claim","name":"submit"}}';
  input.write(`${good}\n${bad.slice(0, 20)}`);
  input.end(`${bad.slice(20)}\nnot json\n${good}\n`);
  let lines = '';
  for await (const chunk of filtered) lines += chunk;
  expect(lines).toBe(`${good}\nnot json\n${good}\n`);
  expect(replies.map((line) => JSON.parse(line))).toMatchObject([
    { id: 7, error: { code: -32600, message: expect.stringContaining('"name" occurs twice') } },
  ]);
});

test('an inbox file with a duplicate name is moved aside with the reason, and nothing is claimed', async () => {
  const workspace = await bareWorkspace();
  const harness = await WorkspaceHarness.open(workspace);
  const inbox = workspace.path('events', 'inbox', 'eve');
  await mkdir(inbox);
  const claim = `"event_type":"edge_claim","feature":"${FEATURE}","edge":"${EDGE}"`;
  await writeFile(join(inbox, '1.json'), `{${claim},"feature":"REQ-F-OTHER-001"}`);
  expect((await harness.serialiser.pass()).toJSON()).toMatchObject({ broken: 1, outcomes: {} });
  const { reason } = JSON.parse(
    await readFile(workspace.path('events', 'broken', 'eve', '1.json.reason.json'), 'utf8'),
  );
  expect(reason).toContain('"feature" occurs twice');
  expect(await harness.edgeHistory()).toEqual([]);
});

test('a manifest with a duplicate name is not valid, so none of its files is promoted', () => {
  const manifest = '{"kind":"files","files":[],"files":[{"path":".github/x"}]}';
  expect(parseResultBlob(Buffer.from(manifest))).toBeNull();
});
