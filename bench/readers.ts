import { sendRequest } from './formats/send-request.js';
import { type MeasuredServer, startMeasuredServer } from './formats/server.js';
import * as texts from './formats/texts.js';
import { integerText, table } from './table.js';

const TENANT_PATH = '/api/tenants/default';
const PROJECT_PATH = `${TENANT_PATH}/projects/read`;
const READERS = 30;
const CLAIMS = 900;
const ROUNDS = 10;
const JSON_TYPE = { 'content-type': 'application/json' };

/** The most expensive views. */
const READS: readonly (readonly [name: string, path: string])[] = [
  ['status', `${PROJECT_PATH}/status`],
  ['status at event 9,900', `${PROJECT_PATH}/status?at=9900`],
  ['agents at event 9,900', `${PROJECT_PATH}/agents?at=9900`],
  ['1,000 tasks', `${PROJECT_PATH}/tasks?limit=1000`],
  ['tasks, none of which match', `${PROJECT_PATH}/tasks?readiness=held`],
  ['the memory of a session', `${TENANT_PATH}/sessions/s`],
  ['the claims of a session', `${TENANT_PATH}/sessions/s/claims`],
  ['the plan', `${PROJECT_PATH}/plan`],
  ['1,000 events', `${PROJECT_PATH}/events?limit=1000`],
];

/**
 * `npm run bench -- --only readers`: thirty readers request one view at the same time. Measures how long /healthz and a
 * renewal take meanwhile, and the longest time without any reply. The project has a plan of 1 MiB and a session with
 * 900 claims, each renewed ten times. The server runs in its own process.
 */
export async function benchReaders(): Promise<void> {
  const rows: string[][] = [];
  const server = await startMeasuredServer();
  try {
    const renewal = await fill(server);
    for (const [name, path] of READS) rows.push(await measureWaitsDuringReads(server, name, path, renewal));
  } finally {
    await server.stop();
  }
  console.log(
    `\n${READERS} readers of one view: milliseconds until all replies arrived, and waits of other requests\n`,
  );
  console.log(table(['view', 'all replies', '/healthz max', 'renewal max', 'loop blocked', 'status'], rows));
}

async function fill({ url }: MeasuredServer): Promise<string> {
  const post = (path: string, body: object) =>
    sendRequest(url + path, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) });
  await sendRequest(`${url}${PROJECT_PATH}/plan`, {
    method: 'PUT',
    headers: JSON_TYPE,
    body: texts.planJson(1024 * 1024),
  });
  const ids = Array.from({ length: CLAIMS }, (_, index) => `AAA-${String(index + 1).padStart(3, '0')}-work`);
  await post(`${PROJECT_PATH}/claims/batch`, {
    claims: ids.map((task_id) => ({ task_id, agent_id: 'a', session_id: 's' })),
  });
  const renewals = ids.map((task_id) => ({ task_id, session_id: 's', expected_generation: 1 }));
  for (let round = 0; round < ROUNDS; round += 1)
    await post(`${PROJECT_PATH}/claims/renew/batch`, { items: renewals });
  return JSON.stringify(renewals[0]);
}

async function measureWaitsDuringReads(
  server: MeasuredServer,
  name: string,
  path: string,
  renewal: string,
): Promise<string[]> {
  const { url } = server;
  const statuses = new Map<number, number>();
  const { result, wall_ms, blocked_ms } = await server.measure(async () => {
    let isOver = false;
    const reading = Array.from({ length: READERS }, async () => {
      const { status } = await sendRequest(url + path, { method: 'GET', headers: {} });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
    const longestWaitMs = async (send: () => Promise<unknown>): Promise<number> => {
      let longestMs = 0;
      do {
        const startMs = performance.now();
        await send();
        longestMs = Math.max(longestMs, performance.now() - startMs);
      } while (!isOver);
      return longestMs;
    };
    const waits = Promise.all([
      longestWaitMs(() => sendRequest(`${url}/healthz`, { method: 'GET', headers: {} })),
      longestWaitMs(() =>
        sendRequest(`${url}${PROJECT_PATH}/claims/renew`, {
          method: 'POST',
          headers: JSON_TYPE,
          body: renewal,
        }),
      ),
    ]);
    await Promise.all(reading);
    isOver = true;
    return waits;
  });
  const statusCounts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  process.stderr.write(
    `  ${name}: ${integerText(wall_ms)} ms, blocked ${integerText(blocked_ms)} ms, ${statusCounts}\n`,
  );
  return [
    name,
    integerText(wall_ms),
    integerText(result[0]),
    integerText(result[1]),
    integerText(blocked_ms),
    statusCounts,
  ];
}
