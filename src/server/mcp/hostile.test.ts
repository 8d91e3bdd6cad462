import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROJECT_URL, TestServer } from '../testing/test-server.js';

let testServer: TestServer;
const logged: Record<string, unknown>[] = [];
beforeAll(async () => {
  testServer = await TestServer.start({ log: (line) => logged.push(line) });
  await testServer.putPlan('A-001-x', 'A-002-x');
});
afterAll(async () => {
  expect((await testServer.get(`${PROJECT_URL}/tasks/A-001-x`)).status).toBe(200);
  expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
  await testServer.remove();
});

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};

async function post(body: string): Promise<{ status: number; text: string }> {
  const reply = await fetch(`${testServer.url}/mcp/acme/shop`, { method: 'POST', headers: HEADERS, body });
  return { status: reply.status, text: await reply.text() };
}

const toolCallText = (name: string, args: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;
const nestedLists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const HANDLE = '{"task_id":"A-001-x","generation":1,"claim_id":"c","session_id":"s"}';

describe('over MCP', () => {
  test.each([
    ['a result', toolCallText('submit', `{"handle":${HANDLE},"result_data":${nestedLists(100_000)}}`)],
    ['a handle', toolCallText('renew', `{"handle":${nestedLists(100_000)}}`)],
    ['an unknown argument', toolCallText('status', `{"x":${nestedLists(100_000)}}`)],
    ['parameters', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${nestedLists(100_000)}}`],
    ['a whole message', nestedLists(100_000)],
  ])('too deeply nested JSON is refused as %s', async (_, body) => {
    const { status, text } = await post(body);
    expect(status).toBeLessThan(500);
    expect(text).toMatch(/"isError":true|"error":|"code":"INVALID_REQUEST"/);
  });

  test('a batch is refused, and none of its calls runs', async () => {
    const claim = toolCallText('claim', '{"task_id":"A-002-x","session_id":"s"}');
    for (const body of [`[${claim}]`, `[${Array(5000).fill(claim).join()}]`, '[]']) {
      const { status, text } = await post(body);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(JSON.parse(text)).toHaveProperty('error');
    }
    expect((await testServer.get(`${PROJECT_URL}/tasks/A-002-x`)).body.generation).toBe(0);
  });

  test.each([
    ['a prototype key', toolCallText('submit', `{"handle":${HANDLE},"result_data":{"__proto__":{"a":1}}}`)],
    ['a constructor key', toolCallText('submit', `{"handle":${HANDLE},"result_data":{"constructor":1}}`)],
    ['a tool with the name of a method', toolCallText('constructor', '{}')],
    ['a tool with the name __proto__', toolCallText('__proto__', '{}')],
  ])('%s is refused', async (_, body) => {
    const { status, text } = await post(body);
    expect(status).toBeLessThan(500);
    expect(text).toMatch(/"isError":true|"error":|"code":"INVALID_REQUEST"/);
  });

  test('the access log has the task of a call, and nothing else of it', async () => {
    logged.length = 0;
    await post(toolCallText('status', '{"task_id":"A-001-x"}'));
    await post(toolCallText('renew', `{"handle":${HANDLE}}`));
    await post(toolCallText('status', '{}'));
    await post(toolCallText('status', JSON.stringify({ task_id: 'x'.repeat(100_000) })));
    const subjects = logged.map(({ subject }) => subject);
    expect(subjects).toEqual(['A-001-x', 'A-001-x', null, 'x'.repeat(200)]);
    expect(JSON.stringify(logged)).not.toContain('claim_id');
  });
});
