import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { z } from 'zod';
import { problemDocument } from '../../core/contract/problem.js';
import type { Route } from '../route.js';
import { ROUTES } from '../routes.js';
import { type RunningServer, type ServerOptions, startServer } from '../server.js';
import { openStoreUrl } from '../store-url.js';

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AnyJson;
}
// biome-ignore lint/suspicious/noExplicitAny: what comes over the wire is checked against its schema, then read freely
export type AnyJson = any;

export const PROJECT_URL = '/api/tenants/acme/projects/shop';
export const TENANT_URL = '/api/tenants/acme';

type SendRequest = (
  path: string,
  init: { method: string; headers: Record<string, string>; body?: string },
) => Response | Promise<Response>;

/** A server on its own file store, recording the routes that were called. */
export class TestServer {
  running!: RunningServer;
  readonly calledRouteIds = new Set<string>();

  private constructor(
    readonly folder: string,
    private readonly options: Partial<ServerOptions>,
  ) {}

  static async start(options: Partial<ServerOptions> = {}): Promise<TestServer> {
    const testServer = new TestServer(await mkdtemp(join(tmpdir(), 'served-')), options);
    await testServer.restart();
    return testServer;
  }

  /** Starts a server for one test, and removes it after the test. */
  static async forTest(options: Partial<ServerOptions> = {}): Promise<TestServer> {
    const testServer = await TestServer.start(options);
    onTestFinished(() => testServer.remove());
    return testServer;
  }

  /** Restarts the server on the given port, or on a free one. */
  async restart(port = 0): Promise<void> {
    await this.running?.stop();
    const opened = await openStoreUrl(`file:${this.folder}`, () => {});
    this.running = await startServer({ ...opened, port, ...this.options });
  }

  async remove(): Promise<void> {
    await this.running.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  get url(): string {
    return this.running.url;
  }

  /** Sends a request, without the socket, and validates the reply against its route's schema. */
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    const send: SendRequest = (to, init) =>
      this.running.app.request(to, { ...init, headers: { host: '127.0.0.1', ...init.headers } });
    return this.sendAndValidate(send, method, path, body, headers);
  }

  /** Sends a request over the socket, for tests of what depends on a connection. */
  requestOverSocket(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    return this.sendAndValidate((to, init) => fetch(this.url + to, init), method, path, body, headers);
  }

  private async sendAndValidate(
    send: SendRequest,
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await send(path, {
      method,
      headers: { ...(isRaw ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    const parsed = {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    };
    this.expectMatchesRoute(method, path, parsed);
    return parsed;
  }

  get = (path: string) => this.request('GET', path);
  post = (path: string, body: unknown) => this.request('POST', path, body);

  /** Puts a plan of tasks without dependencies. */
  async putPlan(...ids: string[]): Promise<void> {
    const tracks: Record<string, unknown[]> = {};
    for (const id of ids) {
      const track = id.split('-')[0] as string;
      tracks[track] = [...(tracks[track] ?? []), { id, description: `work on ${id}`, depends_on: [] }];
    }
    expect((await this.request('PUT', `${PROJECT_URL}/plan`, { tracks })).status).toBe(200);
  }

  /** Claims a task and returns its handle. */
  async claim(task_id: string, session_id = 's1', more: object = {}) {
    const response = await this.post(`${PROJECT_URL}/claims`, {
      task_id,
      agent_id: 'alpha',
      session_id,
      ...more,
    });
    expect(response.body).toMatchObject({ success: true });
    const { generation, id } = response.body.claim;
    return { task_id, session_id, claim_id: id as string, generation: generation as number };
  }

  /** Sends exactly these bytes, and returns everything received until the server closes the connection. */
  sendRaw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.running.port, '127.0.0.1', () => socket.write(text));
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk;
      });
      socket.on('end', () => resolve(received)).on('error', reject);
    });
  }

  private expectMatchesRoute(method: string, path: string, response: TestResponse): void {
    const route = routeOf(method, path);
    if (route === undefined) return;
    this.calledRouteIds.add(route.id);
    const type = response.headers.get('content-type') ?? '';
    if (type.includes('problem+json')) {
      expectMatchesSchema(problemDocument, response.body);
      expect(response.body.status).toBe(response.status);
    } else if ('content_type' in route.reply) expect(type).toContain(route.reply.content_type);
    else expectMatchesSchema(route.reply, response.body);
  }
}

/** The body matches the schema and has no field that the schema lacks. */
function expectMatchesSchema(schema: z.ZodType, body: unknown): void {
  expect(schema.parse(body)).toEqual(body);
}

function routeOf(method: string, path: string): Route | undefined {
  const pathname = path.split('?')[0] as string;
  const matching = ROUTES.filter((each) => each.method === method && matchesTemplate(each.path, pathname));
  // Prefer literal path segments over parameters.
  return matching.sort(
    (a, b) => b.path.replace(/\{\w+\}/g, '').length - a.path.replace(/\{\w+\}/g, '').length,
  )[0];
}

const matchesTemplate = (template: string, path: string): boolean =>
  new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
