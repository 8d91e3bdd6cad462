import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { DynamodbOptions } from '../options.js';

/**
 * What is to become of one call. `lose_reply`: the engine acts, and nobody hears of it. `cut`: the connection breaks
 * before the call gets there. `hold`: it never gets there, and nobody says so.
 */
export type CallFate =
  | 'pass'
  | 'lose_reply'
  | 'cut'
  | 'hold'
  | { readonly error: string; readonly reasons?: readonly string[] }
  | { readonly answer: unknown }
  | ReplyEdit;

/** The engine acts, and what it answers is changed. */
export interface ReplyEdit {
  readonly edit: (answer: { Items?: Record<string, { N?: string }>[] }) => unknown;
}

export interface ProxiedCall {
  /** `TransactWriteItems`, `Query` … */
  readonly operation: string;
  readonly body: Record<string, unknown>;
}

export interface DynamodbProxy {
  readonly options: DynamodbOptions;
  readonly calls: ProxiedCall[];
  /** Decides on every call from now on; it may change what the call says. */
  fate: (call: ProxiedCall) => CallFate;
  close(): Promise<void>;
}

/** An HTTP server in front of the engine, for what an emulator does not do by itself: throttle, conflict, fall silent. */
export async function startProxy(engine: DynamodbOptions): Promise<DynamodbProxy> {
  const calls: ProxiedCall[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const text = await bodyOf(incoming);
    const operation = String(incoming.headers['x-amz-target']).split('.')[1] as string;
    const call = { operation, body: JSON.parse(text) };
    calls.push(call);
    const fate = proxy.fate(call);
    if (fate === 'hold') return;
    if (fate === 'cut') return void outgoing.destroy();
    if (typeof fate === 'object' && !('edit' in fate)) return reply(outgoing, fate);
    forward(engine.endpoint as string, incoming, JSON.stringify(call.body), outgoing, fate);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const proxy: DynamodbProxy = {
    options: { ...engine, endpoint: `http://127.0.0.1:${port}` },
    calls,
    fate: () => 'pass',
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

/** The first `times` calls of an operation have this fate, and all others pass. */
export function firstCalls(
  times: number,
  operation: string,
  fate: CallFate,
): (call: ProxiedCall) => CallFate {
  let left = times;
  return (call) => {
    if (call.operation !== operation || left === 0) return 'pass';
    left -= 1;
    return fate;
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function reply(outgoing: ServerResponse, fate: Exclude<CallFate, string | ReplyEdit>): void {
  const headers = { 'content-type': 'application/x-amz-json-1.0' };
  if ('answer' in fate) {
    outgoing.writeHead(200, headers).end(JSON.stringify(fate.answer));
    return;
  }
  const __type = `com.amazonaws.dynamodb.v20120810#${fate.error}`;
  const CancellationReasons = fate.reasons?.map((Code) => ({ Code }));
  const status = fate.error === 'InternalServerError' ? 500 : 400;
  outgoing
    .writeHead(status, headers)
    .end(JSON.stringify({ __type, message: 'as asked', CancellationReasons }));
}

function forward(
  endpoint: string,
  incoming: IncomingMessage,
  text: string,
  outgoing: ServerResponse,
  fate: 'pass' | 'lose_reply' | ReplyEdit,
): void {
  const { method } = incoming;
  const headers = { ...incoming.headers, 'content-length': String(Buffer.byteLength(text)) };
  const onward = request(endpoint, { method, headers }, async (answer) => {
    if (typeof fate === 'object') {
      reply(outgoing, { answer: fate.edit(JSON.parse(await bodyOf(answer))) });
      return;
    }
    if (fate === 'lose_reply') {
      answer.resume();
      answer.on('end', () => outgoing.destroy());
      return;
    }
    outgoing.writeHead(answer.statusCode as number, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  onward.end(text);
}
