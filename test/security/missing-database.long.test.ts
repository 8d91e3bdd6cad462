import { afterAll, expect, it, onTestFinished } from 'vitest';
import { type RunningServer, startServer } from '../../src/server/server.js';
import { openStoreUrl } from '../../src/server/store-url.js';
import { onDatabase, onOwnDatabase } from '../../src/stores/testing/on-database.js';
import { DATABASE_NAMES, startMigrated } from '../../src/stores/testing/shared-database.js';
import { planOf } from '../support/coordinator-harness.js';

/**
 * Who: someone who makes the database unavailable: they stop it, exhaust its connections or cut the network.
 *
 * What they want: coordinators that burn processor time in retries, that stay in rotation although they cannot serve,
 * or that need a person to restart them.
 *
 * What stops them: background work backs off (`src/coordinator/queue/backoff.ts`, counted in `backoff.test.ts`, measured by
 * `npm run bench -- --outage all`). Commands are 503 and have no effect, `/readyz` is 503 until the database answers, and
 * the next attempt after that succeeds.
 */

const A = 'A-001-core';
const P = '/api/tenants/acme/projects/shop';
const JSON_BODY = { 'content-type': 'application/json' };

for (const name of DATABASE_NAMES) {
  await onDatabase(
    name,
    () => startMigrated(name),
    (database) => {
      afterAll(() => database.stop());
      onOwnDatabase(name, database, ({ url, halt, boot }) => {
        it(`/readyz and commands are 503 while ${name} is stopped, and all recovers once it is back`, async () => {
          const [first, second] = [await serverOn(url), await serverOn(url)];
          expect((await request(first, 'PUT', `${P}/plan`, planOf(A))).status).toBe(200);
          const events = listen(first);
          await events.until('PLAN_CHANGED');
          await halt();
          const ready = await request(first, 'GET', '/readyz');
          expect([ready.status, ready.body.code]).toEqual([503, 'UNAVAILABLE']);
          expect(ready.body.detail).not.toMatch(/127\.0\.0\.1|localhost|genesis_fleet/);
          expect((await request(first, 'GET', '/healthz')).status).toBe(200);
          const claim = { task_id: A, agent_id: 'alpha', session_id: 's1' };
          expect((await request(first, 'POST', `${P}/claims`, claim)).status).toBe(503);
          await boot();
          await until(async () => (await request(first, 'GET', '/readyz')).status === 200);
          // Claims through the second coordinator. The first sees the claim only if it follows the store again.
          await until(
            async () => (await request(second, 'POST', `${P}/claims`, claim)).body.success === true,
          );
          await events.until('CLAIM_ACQUIRED');
        });
      });
    },
  );
}

async function serverOn(url: string): Promise<RunningServer> {
  const server = await startServer({ ...(await openStoreUrl(url, () => {})), port: 0 });
  onTestFinished(() => server.stop());
  return server;
}

interface HttpAnswer {
  readonly code?: string;
  readonly detail?: string;
  readonly success?: boolean;
}

async function request(
  { url }: RunningServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: HttpAnswer }> {
  const init = body === undefined ? {} : { headers: JSON_BODY, body: JSON.stringify(body) };
  const reply = await fetch(url + path, { method, ...init });
  return { status: reply.status, body: (await reply.json()) as HttpAnswer };
}

/** Polls until the condition holds; vitest's timeout ends a test in which it never does. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** The event stream of a server, from the first event on. */
function listen({ url }: RunningServer): { until(type: string): Promise<void> } {
  const streamController = new AbortController();
  onTestFinished(() => streamController.abort());
  let text = '';
  let wake = (): void => {};
  const reading = (async () => {
    const stream = await fetch(`${url}${P}/events/stream?after=`, { signal: streamController.signal });
    const decoder = new TextDecoder();
    for await (const chunk of stream.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      wake();
    }
    throw new Error('The stream ended.');
  })();
  reading.catch(() => {});
  return {
    until: (type) =>
      Promise.race([
        reading,
        new Promise<void>((resolve) => {
          wake = () => {
            if (text.includes(`"${type}"`)) resolve();
          };
          wake();
        }),
      ]),
  };
}
