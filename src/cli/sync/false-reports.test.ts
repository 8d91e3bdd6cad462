import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.js';
import { runGen } from '../testing/terminal.js';
import { createWorkspace, EDGE, KEY, withOfflineCoordinator } from './testing.js';

/** A server that answers every request with the same JSON. */
async function startAnswering(text: string, status = 200): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

it.each([
  ['null', 'null'],
  ['a number', '7'],
  ['a string', '"x"'],
  ['a list', '[]'],
  ['no position', '{}'],
  ['a position that is not a number', '{"position":"x","events":[]}'],
  ['a negative position', '{"position":-1,"events":[]}'],
  ['a position beyond the safe integers', '{"position":1e308,"events":[]}'],
  ['events that are not a list', '{"position":3,"events":{}}'],
  ['events that are not objects', '{"position":3,"events":[null,7]}'],
  ['more events than requested', `{"position":3,"events":[${Array(2000).fill('{}').join()}]}`],
  ['an event that is nested too deep', `{"position":3,"events":[{"payload":${DEEP}}]}`],
  ['an event with a prototype key', '{"position":3,"events":[{"__proto__":{"payload":{}}}]}'],
  ['a grant without a claim', '{"position":0,"events":[],"success":true}'],
])('refuses a remote that replies with %s, and leaves the local log unchanged', async (_, text) => {
  const cwd = await temporaryFolder();
  const workspace = await createWorkspace(cwd);
  await withOfflineCoordinator(workspace, (offline) =>
    offline.claims.claimTask(KEY, { ...EDGE, agent_id: 'ada', session_id: 's' }),
  );
  const url = await startAnswering(text);
  for (const verb of ['status', 'pull', 'push']) {
    const { code, err, out } = await runGen({ cwd }, 'sync', verb, '--remote', url);
    expect(`${err}${out}`, verb).not.toMatch(/TypeError|RangeError|undefined|not iterable|Internal error/);
    if (!text.includes('success')) expect(code, verb).not.toBe(0);
  }
  await withOfflineCoordinator(workspace, async (offline) => {
    expect(await offline.queries.getTaskState(KEY, EDGE.task_id)).toMatchObject({ generation: 1 });
  });
});
