import { describe, expect, it } from 'vitest';
import { claimEventKindOf } from '../../src/core/claims/claim-event-kinds.js';
import type { TestDatabase } from '../../src/stores/testing/database.js';
import { hasPassed, reportText } from './report.js';
import { type HistoryRunOptions, runHistory } from './run.js';

const SHORT = { seconds: 3, clients: 10, coordinators: 2, seed: 'short' } as const;

/**
 * Tests a short run on a real store. In its middle a coordinator is killed, and the database is restarted if it can be.
 * With `proxies`, all network traffic goes through proxies that delay and cut it. The database already has its schema.
 */
export function describeHistory(
  name: string,
  database: TestDatabase,
  { proxies }: { proxies: boolean },
): void {
  describe(`the history of ${name}`, () => {
    it(`follows the rules ${proxies ? 'through faulty proxies' : 'at full speed'}`, () =>
      runAndCheck(database, proxies));
  });
}

async function runAndCheck({ url, restart }: TestDatabase, proxies: boolean): Promise<void> {
  const proxiedSides = url.startsWith('file:') ? 'agents' : 'both';
  const options: HistoryRunOptions = {
    ...SHORT,
    store: url,
    proxy: proxies ? proxiedSides : 'none',
    ...(restart === undefined ? {} : { restartDatabase: restart }),
  };
  const result = await runHistory(options);
  expect(hasPassed(result), reportText(options, result)).toBe(true);
  expect(result.faults).toHaveLength(restart === undefined ? 1 : 2);
  // A run without grants and refusals would prove nothing.
  expect(
    result.events.filter(({ event_type }) => claimEventKindOf(event_type) === 'granted'),
  ).not.toHaveLength(0);
  expect(result.calls.filter(({ outcome }) => outcome.kind === 'refused')).not.toHaveLength(0);
}
