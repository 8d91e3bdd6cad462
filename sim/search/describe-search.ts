import { describe, expect, it } from 'vitest';
import type { SearchModel } from './models.js';
import { runSearch } from './search.js';

/** Codes that must all occur; otherwise the search covers less than it claims. */
const REQUIRED_CODES = [
  ['UNKNOWN_TASK', 'SESSION_CLOSED', 'DENIED_COMPLETED', 'DENIED_HELD', 'DENIED_ACTIVE_CLAIM'],
  ['DENIED_DEPENDENCIES', 'DENIED_BACKOFF', 'DENIED_LIMIT', 'GRANTED'],
  ['NO_CLAIM', 'GENERATION_MISMATCH', 'SESSION_MISMATCH', 'ALREADY_EXPIRED', 'RENEWED', 'RELEASED'],
  ['FUTURE_GENERATION', 'STALE_GENERATION', 'TASK_ALREADY_COMPLETED', 'RESULT_TOO_LARGE', 'LEASE_EXPIRED'],
  ['DEPENDENCY_CHANGED', 'ESCALATED', 'ACCEPTED', 'SUSPENDED', 'RESUMED'],
  ['STALE_REVIEW', 'ALREADY_DECIDED', 'APPROVED', 'REJECTED', 'CHANGES_REQUESTED'],
  ['FORCED', 'REASSIGNED', 'RESET', 'NOT_COMPLETED', 'HELD', 'UNHELD', 'ADOPTED', 'UNKNOWN_RESULT'],
  ['EXPIRED', 'STALE', 'NOT_EXPIRED'],
].flat();

/** Searches each model exhaustively; expects every code, and at least this many states in total. */
export function describeSearch(models: readonly SearchModel[], { statesMin }: { statesMin: number }): void {
  describe('the rules in an exhaustive search of small models', () => {
    const seenCodes = new Set<string>();
    let states = 0;
    let transitions = 0;

    it.each(models.map((model) => [model.name, model] as const))(
      'violate no invariant in any state of: %s',
      (_, model) => {
        const result = runSearch({ models: [model] });
        expect(result.violations).toEqual([]);
        for (const code of result.codes.keys()) seenCodes.add(code);
        states += result.states;
        transitions += result.transitions;
      },
    );

    it('return every code in some state, so that the search covers all rules', () => {
      console.log(`searched ${states} states, ${transitions} transitions`);
      expect(REQUIRED_CODES.filter((code) => !seenCodes.has(code))).toEqual([]);
      expect(states).toBeGreaterThan(statesMin);
    });
  });
}
