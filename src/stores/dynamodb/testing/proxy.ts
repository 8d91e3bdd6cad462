import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { DynamodbOptions } from '../options.js';

/**
 * What happens to one call. `lose_reply`: the database executes it, but the reply is lost. `cut`: the connection breaks
 * before the call arrives. `hold`: the call never arrives, and no error is reported.
 */
export type CallFate =
  | 'pass'
  | 'lose_reply'
  | 'cut'
  | 'hold'
  | { readonly error: string; readonly reasons?: readonly string[] }
  | { readonly answer: unknown }
  | ReplyEdit;

/** The database executes the call, and its reply is changed. */
interface ReplyEdit {
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
  /** Decides the fate of every call from now on; it may change the call's body. */
  fate: (call: ProxiedCall) => CallFate;
  /** Sees every reply that passes, with its call. */
  onReply: (call: ProxiedCall, reply: Record<string, unknown>) => void;
  close(): Promise<void>;
}

/** An HTTP proxy in front of the database, for faults an emulator does not produce: throttling, conflicts, missing replies. */
export async function startDynamodbProxy(database: DynamodbOptions): Promise<DynamodbProxy> {
  const calls: ProxiedCall[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const text = await bodyOf(incoming);
    const operation = String(incoming.headers['x-amz-target']).split('.')[1] as string;
    const call = { operation, body: JSON.parse(text) };
    calls.push(call);
    const fate = proxy.fate(call);
    if (fate === 'hold') return;
    if (fate === 'cut') return void outgoing.destroy();
    if (typeof fate === 'object' && !('edit' in fate)) return sendReply(outgoing, fate);
    const onReply = (text: string) => proxy.onReply(call, JSON.parse(text));
    forwardCall(database.endpoint as string, incoming, JSON.stringify(call.body), outgoing, fate, onReply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const proxy: DynamodbProxy = {
    options: { ...database, endpoint: `http://127.0.0.1:${port}` },
    calls,
    fate: () => 'pass',
    onReply: () => {},
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

/** The first `times` calls of an operation have this fate; all others pass. */
export function firstCalls(
  times: number,
  operation: string,
  fate: CallFate,
): (call: ProxiedCall) => CallFate {
  let remaining = times;
  return (call) => {
    if (call.operation !== operation || remaining === 0) return 'pass';
    remaining -= 1;
    return fate;
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function sendReply(outgoing: ServerResponse, fate: Exclude<CallFate, string | ReplyEdit>): void {
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
    .end(JSON.stringify({ __type, message: 'injected fault', CancellationReasons }));
}

function forwardCall(
  endpoint: string,
  incoming: IncomingMessage,
  text: string,
  outgoing: ServerResponse,
  fate: 'pass' | 'lose_reply' | ReplyEdit,
  onReply: (text: string) => void,
): void {
  const { method } = incoming;
  const headers = { ...incoming.headers, 'content-length': String(Buffer.byteLength(text)) };
  const forwarded = request(endpoint, { method, headers }, async (answer) => {
    if (typeof fate === 'object') {
      sendReply(outgoing, { answer: fate.edit(JSON.parse(await bodyOf(answer))) });
      return;
    }
    if (fate === 'lose_reply') {
      answer.resume();
      answer.on('end', () => outgoing.destroy());
      return;
    }
    const replyText = await bodyOf(answer);
    onReply(replyText);
    outgoing.writeHead(answer.statusCode as number, answer.headers).end(replyText);
  });
  forwarded.on('error', () => outgoing.destroy());
  forwarded.end(text);
}
