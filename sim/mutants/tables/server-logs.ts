import type { Mutant } from '../mutant.js';

const WRITER = 'src/server/log/line-writer.ts';
const WRITER_TESTS = ['src/server/log/line-writer.test.ts'];

/** Faults that let an unwritable log stop the server, or lose lines without counting them. */
export const SERVER_LOG_MUTANTS: readonly Mutant[] = [
  {
    name: 'lost-lines-not-counted',
    file: WRITER,
    find: 'byte === NEWLINE ? count + 1 : count',
    replace: 'byte === NEWLINE ? count : count',
    harm: 'Lines lost to a full disk are not counted.',
    tests: WRITER_TESTS,
  },
  {
    name: 'unwritten-lines-kept',
    file: WRITER,
    find: 'if (this.pendingChars + line.length > this.settings.pending_chars_max) {',
    replace: 'if (this.pendingChars < 0) {',
    harm: 'The lines of a log without a reader fill the memory.',
    tests: WRITER_TESTS,
  },
  {
    name: 'torn-line-continued',
    file: WRITER,
    find: "if (this.isTorn) await this.writeSome(Buffer.from('\\n'));",
    replace: '',
    harm: 'The first line after a full disk is appended to an incomplete line.',
    tests: WRITER_TESTS,
  },
  {
    name: 'full-pipe-waited-for-at-close',
    file: WRITER,
    find: 'if (!isFull || this.isClosing) throw error;',
    replace: 'if (!isFull || (this.isClosing && this.isFailing)) throw error;',
    harm: 'A server whose log has no reader does not shut down.',
    tests: WRITER_TESTS,
  },
  {
    name: 'lines-of-a-throwing-log-not-counted',
    file: 'src/server/log/logs.ts',
    find: '        this.lostInSinks += 1;\n',
    replace: '        this.lostInSinks += 0;\n',
    harm: 'Lines lost by a failing log function of an embedder are not counted.',
    tests: ['src/server/log/logs.test.ts'],
  },
  {
    name: 'level-written-twice',
    file: 'src/server/log/logs.ts',
    find: 'return ({ level, ...line }) => logger[level](line);',
    replace: 'return (line) => logger.info(line);',
    harm: 'A line has two levels, and readers of JSON disagree on which one counts.',
    tests: ['src/server/middleware/access-log.test.ts'],
  },
  {
    name: 'error-only-in-the-access-log',
    file: 'src/server/app.ts',
    find: 'for (const sink of new Set([errorLog, isAccessLogged() ? accessLog : null])) sink?.(line);',
    replace: 'if (isAccessLogged()) accessLog?.(line);',
    harm: 'Without an access log the id in a 500 response cannot be found in any log.',
    tests: ['src/server/app.test.ts'],
  },
];
