import { createServer, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readWholeRequest } from './whole-request.js';

/** The content of a request, as one of the two parsers reads it. */
interface RequestContent {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: readonly (readonly [string, unknown])[];
  readonly body: string;
  readonly isKeptAlive: boolean;
}

/** A connection without a network, which Node's HTTP server accepts. */
class TestConnection extends Duplex {
  override _read(): void {}
  override _write(_: unknown, __: unknown, done: () => void): void {
    done();
  }
  setTimeout = (): this => this;
  setKeepAlive = (): this => this;
  setNoDelay = (): this => this;
}

/** The request as Node's HTTP server reads it; null if the server refuses it or waits for more. */
async function readByNode(bytes: Buffer): Promise<RequestContent | null> {
  const server = createServer({ maxHeaderSize: 16 * 1024 });
  const connection = new TestConnection();
  try {
    return await new Promise((resolve) => {
      server.on('clientError', () => resolve(null));
      server.on('request', (request: IncomingMessage, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk) => chunks.push(chunk));
        request.on('end', () => {
          const { method, url } = request;
          const headers = Object.entries(request.headers).sort();
          const body = Buffer.concat(chunks).toString('latin1');
          resolve({ method, url, headers, body, isKeptAlive: response.shouldKeepAlive });
        });
      });
      server.emit('connection', connection);
      connection.push(bytes);
      // The end of the stream: a request that is not complete by now is an error.
      connection.push(null);
    });
  } finally {
    connection.destroy();
  }
}

function readDirectly(bytes: Buffer): RequestContent | null {
  const request = readWholeRequest(bytes);
  if (request === null) return null;
  const { method, path, search, headers, body, isKeptAlive } = request;
  const text = Buffer.from(body).toString('latin1');
  return { method, url: path + search, headers: [...headers].sort(), body: text, isKeptAlive };
}

const FRAGMENTS = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ':',
  '\0',
  '\xfc',
  '/',
  '?',
  '#',
  '0',
  '+',
  ',',
  ';',
  'HTTP/1.1',
  'GET',
].concat(
  [
    'Content-Length: 1',
    'Content-Length: 2\t',
    'Transfer-Encoding: chunked',
    'Host: y',
    'Connection: close',
    'x: y',
  ].map((header) => `${header}\r\n`),
);

const requestText = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
    target: fc.constantFrom('/', '/a/b', '/a?b=c', '/a%20b', '/a//b', '/a/../b', '/a;b'),
    header: fc.constantFrom(
      'X-A: b',
      'Transfer-Encoding: chunked',
      'Upgrade: h2c',
      'Accept: */*',
      'Connection: Close',
      'Connection: keep-alive',
      'X-Empty:',
    ),
    body: fc.constantFrom('', '{}', '{"a":1}'),
  })
  .map(
    ({ method, target, header, body }) =>
      `${method} ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${header}\r\n\r\n${body}`,
  );
/** Replaces some characters, possibly none, with a fragment. */
const mutation = fc.record({
  at: fc.nat(120),
  removed: fc.nat(2),
  inserted: fc.constantFrom('', ...FRAGMENTS),
});

test('reads a request as Node does, or leaves it to Node', async () => {
  let readCount = 0;
  const property = fc.asyncProperty(
    requestText,
    fc.array(mutation, { maxLength: 2 }),
    async (text, mutations) => {
      const mutated = mutations.reduce(
        (before, { at, removed, inserted }) => before.slice(0, at) + inserted + before.slice(at + removed),
        text,
      );
      const bytes = Buffer.from(mutated, 'latin1');
      const direct = readDirectly(bytes);
      if (direct === null) return;
      readCount += 1;
      expect(direct).toEqual(await readByNode(bytes));
    },
  );
  await fc.assert(property, { numRuns: 3000 });
  expect(readCount).toBeGreaterThan(500);
});
