import { expect, test } from 'vitest';
import { readWholeRequest } from './whole-request.js';

const read = (text: string) => readWholeRequest(Buffer.from(text, 'latin1'));
const head = (line: string, ...headers: string[]): string => `${[line, ...headers].join('\r\n')}\r\n\r\n`;
const LINE = 'POST /a/b?c=%2F HTTP/1.1';
const HOST = 'Host: x';

test('reads method, path, query, headers and body', () => {
  const request = read(`${head(LINE, HOST, 'X-Empty:', 'x-two:  a b ', 'Content-Length: 2')}{}`);
  expect(request).toMatchObject({ method: 'POST', path: '/a/b', search: '?c=%2F', isKeptAlive: true });
  expect([...(request?.headers ?? [])]).toEqual([
    ['host', 'x'],
    ['x-empty', ''],
    ['x-two', 'a b'],
    ['content-length', '2'],
  ]);
  expect(Buffer.from(request?.body ?? []).toString()).toBe('{}');
});

test('reads a request without a body, and one that is the last of its connection', () => {
  expect(read(head('GET / HTTP/1.1', HOST))).toMatchObject({ path: '/', search: '', isKeptAlive: true });
  expect(read(head(LINE, HOST, 'Connection: Close'))).toMatchObject({ isKeptAlive: false });
});

test.each([
  ['is not complete', `${LINE}\r\n${HOST}\r\n`],
  ['lacks a part of its body', `${head(LINE, HOST, 'Content-Length: 2')}{`],
  ['is followed by more bytes', `${head(LINE, HOST, 'Content-Length: 2')}{}G`],
  ['has a body without a length', `${head(LINE, HOST)}{}`],
  ['begins with an empty line', `\r\n${head(LINE, HOST)}`],
  ['names no host', head(LINE)],
  ['names two hosts', head(LINE, HOST, 'host: y')],
  ['has two lengths', `${head(LINE, HOST, 'Content-Length: 2', 'content-length: 2')}{}`],
  ['has a list of lengths', `${head(LINE, HOST, 'Content-Length: 2, 2')}{}`],
  ['has a signed length', `${head(LINE, HOST, 'Content-Length: +2')}{}`],
  ['has a hexadecimal length', `${head(LINE, HOST, 'Content-Length: 0x2')}{}`],
  ['has an empty length', head(LINE, HOST, 'Content-Length:')],
  ['is chunked', `${head(LINE, HOST, 'Transfer-Encoding: chunked')}0\r\n\r\n`],
  [
    'is chunked and has a length',
    `${head(LINE, HOST, 'Content-Length: 5', 'Transfer-Encoding: x')}0\r\n\r\n`,
  ],
  ['expects an answer before its body', head(LINE, HOST, 'Expect: 100-continue')],
  ['changes the protocol', head(LINE, HOST, 'Connection: Upgrade', 'Upgrade: h2c')],
  ['lists two words for its connection', head(LINE, HOST, 'Connection: keep-alive, close')],
  ['has a space before a colon', head(LINE, 'Host : x')],
  ['folds a header', head(LINE, HOST, 'X-A: b', ' c')],
  ['has a header without a colon', head(LINE, HOST, 'nonsense')],
  ['has a header without a name', head(LINE, HOST, ': x')],
  ['ends a line with a line feed alone', `${LINE}\n${HOST}\r\n\r\n`],
  ['has a carriage return in a header', head(LINE, HOST, 'X-A: b\rc')],
  ['has a tab in a header', head(LINE, HOST, 'Connection: close\t')],
  ['has a NUL in a header', head(LINE, HOST, 'X-A: \0')],
  ['has a letter beyond ASCII in a header', head(LINE, HOST, 'X-A: \xfc')],
  ['has a letter beyond ASCII in its path', head('GET /\xfc HTTP/1.1', HOST)],
  ['has a space in its path', head('GET /a b HTTP/1.1', HOST)],
  ['has a fragment', head('GET /a#b HTTP/1.1', HOST)],
  ['has a whole URL', head('GET http://x/ HTTP/1.1', HOST)],
  ['requests only the head', head('HEAD / HTTP/1.1', HOST)],
  ['has another method', head('OPTIONS * HTTP/1.1', HOST)],
  ['has a method in small letters', head('get / HTTP/1.1', HOST)],
  ['has another version', head('GET / HTTP/1.0', HOST)],
  ['has many headers', head(LINE, HOST, ...Array.from({ length: 64 }, (_, at) => `x-${at}: y`))],
  ['has a long header', head(LINE, HOST, `x-a: ${'y'.repeat(16 * 1024)}`)],
])('leaves to Node a request that %s', (_, text) => {
  expect(read(text)).toBeNull();
});
