import type { Mutant } from '../mutant.js';

const LISTEN = 'src/server/listen.ts';
const SOCKET_TESTS = ['test/security/sockets.test.ts'];

/** Faults that let an unauthenticated peer hold sockets of the server. */
export const CONNECTION_MUTANTS: readonly Mutant[] = [
  {
    name: 'refused-socket-left-open',
    file: LISTEN,
    find: 'setTimeout(() => socket.destroy(), lingerMs)',
    replace: 'setTimeout(() => socket.resume(), lingerMs)',
    why: 'A refused peer keeps its socket open without a time limit.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'unauthenticated-socket-left-idle',
    file: LISTEN,
    find: 'if (status === UNAUTHENTICATED) socket.setTimeout(linger_ms);',
    replace: '',
    why: 'A peer without a valid credential keeps an idle connection as long as an authenticated one.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'silent-socket-left-open',
    file: LISTEN,
    find: 'if (socket.bytesRead === 0) ',
    replace: 'if (socket.bytesRead < 0) ',
    why: 'A connection that never sends a request is kept open.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'unread-answer-kept',
    file: LISTEN,
    find: 'server.timeout = settings.request_timeout_ms;',
    replace: 'server.timeout = 0;',
    why: 'A peer that does not read its response keeps its socket open and the response in memory.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'addresses-not-limited',
    file: 'src/server/connection-limits.ts',
    find: 'if (count >= this.max) return null;',
    replace: 'if (count > this.max) return null;',
    why: 'One address exceeds its connection limit.',
    tests: ['src/server/connection-limits.test.ts'],
  },
  {
    name: 'closed-connections-counted',
    file: 'src/server/connection-limits.ts',
    find: 'if (left > 0) this.counts.set(client, left);',
    replace: 'if (left >= 0) this.counts.set(client, left + 1);',
    why: 'An address that reached its limit once is refused permanently.',
    tests: ['src/server/connection-limits.test.ts'],
  },
  {
    name: 'empty-lines-keep-a-connection',
    file: 'src/server/listen.ts',
    find: 'if (deadlineMs < nowMs && pending.size === 0)',
    replace: 'if (deadlineMs < 0)',
    why: 'Empty lines keep a connection open for ever.',
    tests: ['test/security/sockets.test.ts'],
  },
  {
    name: 'bodies-without-limit',
    file: 'src/server/body-memory.ts',
    find: 'this.bytesMax / 4] as const',
    replace: 'this.bytesMax] as const',
    why: 'The unfinished uploads of one credential keep its tenant from uploading.',
    tests: ['test/security/body-memory.test.ts'],
  },
  {
    name: 'body-memory-not-released',
    file: 'src/server/body-memory.ts',
    find: 'if (this.bytes > 0) this.add(-this.bytes);',
    replace: '',
    why: 'After a gigabyte of uploads no more are accepted.',
    tests: ['test/security/body-memory.test.ts'],
  },
  {
    name: 'arrays-without-limit',
    file: 'src/core/strict-json.ts',
    find: 'if (containers > containersMax)',
    replace: 'if (containers < 0)',
    why: 'A command of a megabyte delays the renewals of others.',
    tests: ['src/core/strict-json.test.ts'],
  },
  {
    name: 'large-events-at-once',
    file: 'src/stores/file/log-reader.ts',
    find: 'return bytes > READ_BYTES_MAX;',
    replace: 'return bytes < 0;',
    why: 'A filtered read decodes a thousand large events at once.',
    tests: ['src/stores/file/log-reader.test.ts'],
  },
  {
    name: 'stream-ends-with-the-store',
    file: 'src/server/stream.ts',
    find: "if (isProblem(reply) && reply.problem === 'UNAVAILABLE')",
    replace: "if (isProblem(reply) && reply.problem === 'NOT_FOUND')",
    why: 'A stream that is reading the past ends when its store is unavailable for a moment.',
    tests: ['src/server/stream.test.ts'],
  },
];
