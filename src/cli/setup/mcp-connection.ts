import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Io } from '../io.js';
import { jsonOrText } from '../json-or-text.js';
import type { ConfiguredServer } from './configured-server.js';

/** JSON-RPC with an MCP server. A request rejects if the server replies with an error, or not in time. */
export interface McpConnection {
  request(method: string, params: object): Promise<unknown>;
  notify(method: string): Promise<void>;
  close(): void;
}

interface RpcReply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message?: string };
}

const REPLY_SECONDS_MAX = 30;
const REPLY_BYTES_MAX = 1024 * 1024;
const STDERR_CHARS_MAX = 2000;

/** Starts or reaches the server as its client would, in this folder and with this environment. */
export function connectTo(io: Io, server: ConfiguredServer): McpConnection {
  const expandText = (text: string): string =>
    text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced, plain) => io.env[braced ?? plain] ?? '');
  const expandRecord = (record: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, expandText(value)]));
  if (server.url !== undefined)
    return new HttpConnection(expandText(server.url), expandRecord(server.headers));
  const { command = '', args = [], cwd = io.cwd } = server;
  return new StdioConnection(command, args, cwd, { ...io.env, ...expandRecord(server.env) });
}

function resultOf({ result, error }: RpcReply): unknown {
  if (error !== undefined) throw new Error(`it replied with an error: ${error.message}`);
  return result;
}

class StdioConnection implements McpConnection {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly waiting = new Map<number, (reply: RpcReply | Error) => void>();
  private nextId = 1;
  private stderrTail = '';

  constructor(
    command: string,
    args: readonly string[],
    cwd: string,
    env: Readonly<Record<string, string | undefined>>,
  ) {
    this.child = spawn(command, args, { cwd, env, stdio: 'pipe' });
    this.child.on('error', (error) => this.fail(`${command} cannot be started (${error.message})`));
    this.child.on('close', (code, signal) =>
      this.fail(code === null ? `it was ended by ${signal}` : `it ended with exit code ${code}`),
    );
    this.child.stdin.on('error', () => {});
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.stderrTail = (this.stderrTail + chunk.toString('utf8')).slice(-STDERR_CHARS_MAX);
    });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const reply = jsonOrText(line) as RpcReply;
      this.waiting.get(reply?.id ?? 0)?.(reply);
    });
  }

  async request(method: string, params: object): Promise<unknown> {
    const id = this.nextId++;
    const timer = setTimeout(
      () => this.fail(`no reply to ${method} within ${REPLY_SECONDS_MAX} seconds`),
      REPLY_SECONDS_MAX * 1000,
    );
    try {
      const reply = await new Promise<RpcReply | Error>((resolve) => {
        this.waiting.set(id, resolve);
        this.send({ id, method, params });
      });
      if (reply instanceof Error) throw reply;
      return resultOf(reply);
    } finally {
      clearTimeout(timer);
      this.waiting.delete(id);
    }
  }

  async notify(method: string): Promise<void> {
    this.send({ method });
  }

  close(): void {
    this.child.stdin.end();
    this.child.kill();
  }

  private send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  private fail(reason: string): void {
    const stderr = this.stderrTail.trim();
    for (const resolve of this.waiting.values())
      resolve(new Error(stderr === '' ? reason : `${reason}: ${stderr}`));
  }
}

class HttpConnection implements McpConnection {
  private nextId = 1;
  private readonly session: Record<string, string> = {};

  constructor(
    private readonly url: string,
    private readonly headers: Readonly<Record<string, string>>,
  ) {}

  async request(method: string, params: object): Promise<unknown> {
    const id = this.nextId++;
    const replies = messagesIn(await this.post({ id, method, params }));
    const reply = replies.find((message) => message.id === id);
    if (reply === undefined) throw new Error(`${this.url} sent no reply to ${method}`);
    return resultOf(reply);
  }

  async notify(method: string): Promise<void> {
    await this.post({ method });
  }

  close(): void {}

  private async post(message: object): Promise<string> {
    const reply = await fetch(this.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...this.session,
        ...this.headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(REPLY_SECONDS_MAX * 1000),
    }).catch((error: Error & { cause?: { code?: string } }) => {
      throw new Error(`${this.url} cannot be reached (${error.cause?.code ?? error.message})`);
    });
    const session = reply.headers.get('mcp-session-id');
    if (session !== null) this.session['mcp-session-id'] = session;
    const body = await readBounded(reply);
    if (!reply.ok)
      throw new Error(`${this.url} replied with status ${reply.status}: ${body.slice(0, STDERR_CHARS_MAX)}`);
    return body;
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > REPLY_BYTES_MAX) throw new Error('its reply is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The messages of a reply: one JSON message, or an event stream with one message per event. */
const messagesIn = (body: string): RpcReply[] =>
  (body.trimStart().startsWith('{')
    ? [body]
    : body.split(/\r?\n/).map((line) => line.replace(/^data: ?/, ''))
  )
    .map(jsonOrText)
    .filter((message): message is RpcReply => typeof message === 'object' && message !== null);
