import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { NodeConnection } from './node-connection.js';
import { type HttpResponse, problemResponse } from './response.js';
import type { App } from './route.js';

/**
 * Answers a request of Node's HTTP server. Creates no `Request` and no `Response`, because they cost more than most
 * commands.
 */
export async function answerRequest(
  app: Pick<App, 'respond'>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const target = targetOf(incoming.url ?? '');
  const response =
    target === null
      ? problemResponse(
          'INVALID_REQUEST',
          'The request target is not valid. Send a path that begins with /, or a whole URL.',
        )
      : await app.respond({
          method: incoming.method ?? '',
          ...target,
          connection: new NodeConnection(incoming, outgoing),
        });
  writeResponse(outgoing, response);
}

/** The path and the query of a request target; null if it is not valid. A proxy may send a whole URL. */
function targetOf(url: string): { readonly path: string; readonly search: string } | null {
  if (url.startsWith('/')) {
    const cut = url.indexOf('?');
    return cut === -1 ? { path: url, search: '' } : { path: url.slice(0, cut), search: url.slice(cut) };
  }
  if (!URL.canParse(url)) return null;
  const { pathname, search } = new URL(url);
  return { path: pathname, search };
}

function writeResponse(outgoing: ServerResponse, { status, headers, body }: HttpResponse): void {
  const lines: string[] = [];
  for (const name in headers) lines.push(name, headers[name] as string);
  if (!(body instanceof ReadableStream)) {
    lines.push('content-length', String(Buffer.byteLength(body)));
    outgoing.writeHead(status, lines).end(body);
    return;
  }
  outgoing.writeHead(status, lines).flushHeaders();
  // Ends the stream if the client disconnects, which is not an error of the stream.
  const stream = Readable.fromWeb(body as NodeReadableStream);
  void pipeline(stream, outgoing).catch(() => {});
}
