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
    why: 'A peer that was refused keeps its socket for as long as it likes.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'unauthenticated-socket-left-idle',
    file: LISTEN,
    find: 'if (status === UNAUTHENTICATED) socket.setTimeout(this.settings.linger_ms);',
    replace: '',
    why: 'A peer without a valid credential keeps an idle connection for as long as others.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'silent-socket-left-open',
    file: LISTEN,
    find: 'if (socket.bytesRead === 0) ',
    replace: 'if (socket.bytesRead < 0) ',
    why: 'A connection that never speaks is kept.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'unread-answer-kept',
    file: LISTEN,
    find: 'server.timeout = settings.request_timeout_ms;',
    replace: 'server.timeout = 0;',
    why: 'A peer that does not read its answer keeps its socket, and the answer in memory.',
    tests: SOCKET_TESTS,
  },
  {
    name: 'addresses-not-limited',
    file: 'src/server/connection-limits.ts',
    find: 'if (count >= this.max) return null;',
    replace: 'if (count > this.max) return null;',
    why: 'One address has more connections than it may.',
    tests: ['src/server/connection-limits.test.ts'],
  },
  {
    name: 'closed-connections-counted',
    file: 'src/server/connection-limits.ts',
    find: 'if (left > 0) this.counts.set(client, left);',
    replace: 'if (left >= 0) this.counts.set(client, left + 1);',
    why: 'An address that was busy once is refused for ever.',
    tests: ['src/server/connection-limits.test.ts'],
  },
];
