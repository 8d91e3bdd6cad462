import { expect, test } from 'vitest';
import { type LogLine, ServerLogs } from './logs.js';

const LINE: LogLine = { level: 'info', route: 'next' };

test('an error of a sink does not reach the caller, and the line is counted as lost', () => {
  const fail = (): void => {
    throw new Error('the log is broken');
  };
  const logs = new ServerLogs({ log: fail, errorLog: fail, lostLogLines: () => 5 });
  logs.accessLog?.(LINE);
  logs.errorLog(LINE);
  expect(logs.lost_lines).toBe(7);
});

test('a sink that is used for requests and errors gets each error once', () => {
  const ignoreLine = (): void => {};
  const { accessLog, errorLog } = new ServerLogs({ log: ignoreLine, errorLog: ignoreLine });
  expect(accessLog).toBe(errorLog);
});
