import { describe, expect, it } from 'vitest';
import { runSearch } from './search.js';
import type { World } from './world.js';

/** Every answer that must come up somewhere, or the search looked at less than it says. */
const ANSWERS = [
  ['UNKNOWN_TASK', 'SESSION_CLOSED', 'DENIED_COMPLETED', 'DENIED_HELD', 'DENIED_ACTIVE_CLAIM'],
  ['DENIED_DEPENDENCIES', 'DENIED_BACKOFF', 'DENIED_LIMIT', 'GRANTED'],
  ['NO_CLAIM', 'GENERATION_MISMATCH', 'SESSION_MISMATCH', 'ALREADY_EXPIRED', 'RENEWED', 'RELEASED'],
  ['FUTURE_GENERATION', 'STALE_GENERATION', 'TASK_ALREADY_COMPLETED', 'RESULT_TOO_LARGE', 'LEASE_EXPIRED'],
  ['DEPENDENCY_CHANGED', 'ESCALATED', 'ACCEPTED', 'SUSPENDED', 'RESUMED'],
  ['STALE_REVIEW', 'ALREADY_DECIDED', 'APPROVED', 'REJECTED', 'CHANGES_REQUESTED'],
  ['FORCED', 'REASSIGNED', 'RESET', 'NOT_COMPLETED', 'HELD', 'UNHELD', 'ADOPTED', 'UNKNOWN_RESULT'],
  ['EXPIRED', 'STALE', 'NOT_EXPIRED'],
].flat();

/** Searches each world to its end, and expects every answer and at least so many states among them. */
export function describeSearch(worlds: readonly World[], { statesMin }: { statesMin: number }): void {
  describe('the rules, searched to the end of a small world', () => {
    const answered = new Set<string>();
    let states = 0;
    let transitions = 0;

    it.each(worlds.map((world) => [world.name, world] as const))(
      'break no invariant in any state of: %s',
      (_, world) => {
        const found = runSearch({ worlds: [world] });
        expect(found.violations).toEqual([]);
        for (const code of found.codes.keys()) answered.add(code);
        states += found.states;
        transitions += found.transitions;
      },
    );

    it('give every answer somewhere, so that no part of them went unsearched', () => {
      console.log(`searched ${states} states, ${transitions} transitions`);
      expect(ANSWERS.filter((code) => !answered.has(code))).toEqual([]);
      expect(states).toBeGreaterThan(statesMin);
    });
  });
}
