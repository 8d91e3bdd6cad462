import fc from 'fast-check';
import { expect, it } from 'vitest';
import { emptyHead, type Head } from '../claims/head.js';
import { ClaimHeads } from '../heads/claim-heads.js';
import { applyPlanChange, NOTHING_STARTED, Plan, readPlan } from '../plan/index.js';
import { runAtOnce } from '../sliceable-work.js';
import { Frontier, type FrontierInput } from './frontier.js';

/** Two tracks: A is sequential and has subtasks; in B, only the last task waits, for tasks of both tracks. */
const PLAN = {
  tracks: {
    A: [
      { id: 'A-001-a', description: 'a' },
      { id: 'A-002-b', description: 'b', subtasks: 2 },
      { id: 'A-003-c', description: 'c' },
    ],
    B: [
      { id: 'B-001-a', description: 'a', priority: 9 },
      { id: 'B-002-b', description: 'b', depends_on: [] },
      { id: 'B-003-c', description: 'c', depends_on: ['A-003-c', 'B-001-a'] },
    ],
  },
};

function plan(): Plan {
  const reading = readPlan({ json: PLAN }, new Plan(), NOTHING_STARTED);
  if (!reading.ok) throw new Error(JSON.stringify(reading));
  return applyPlanChange(new Plan(), reading.change);
}

class FrontierHarness implements FrontierInput {
  readonly plan = plan();
  readonly heads = new ClaimHeads();
  readonly frontier = new Frontier();

  moveHead(subject: string, to: 'held' | 'free' | 'done'): void {
    const before = this.heads.get(subject) ?? null;
    const after: Head = {
      ...(before ?? emptyHead(subject)),
      seq: (before?.seq ?? 0) + 1,
      phase: to === 'done' ? 'COMPLETED' : 'OPEN',
      claim:
        to === 'held'
          ? ({ state: 'ACTIVE', session_id: 's', agent_id: 'a' } as NonNullable<Head['claim']>)
          : null,
    };
    this.heads.set(subject, after);
    this.frontier.onHeadMoved(this, subject, before?.phase === 'COMPLETED');
  }

  frontierIds(frontier = this.frontier): string[][] {
    if (frontier.rebuiltVersion !== frontier.currentVersion(this.plan))
      runAtOnce(frontier.rebuildInSlices(this));
    return [...frontier.byTrack].sort().map(([, subjects]) => subjects.map(({ id }) => id));
  }
}

const nonEmpty = (tracks: string[][]) => tracks.filter((ids) => ids.length > 0);

it('starts with the subjects without open dependencies, the best of each track first', () => {
  expect(nonEmpty(new FrontierHarness().frontierIds())).toEqual([['A-001-a'], ['B-001-a', 'B-002-b']]);
});

it('advances with completed work, subtasks before their merge', () => {
  const harness = new FrontierHarness();
  harness.frontierIds();
  harness.moveHead('A-001-a', 'done');
  harness.moveHead('B-002-b', 'held');
  expect(nonEmpty(harness.frontierIds())).toEqual([['A-002-b::1', 'A-002-b::2'], ['B-001-a']]);
  harness.moveHead('A-002-b::1', 'done');
  harness.moveHead('A-002-b::2', 'done');
  expect(nonEmpty(harness.frontierIds())).toEqual([['A-002-b'], ['B-001-a']]);
  harness.moveHead('A-001-a', 'free');
  harness.moveHead('B-002-b', 'free');
  expect(nonEmpty(harness.frontierIds())).toEqual([
    ['A-001-a', 'A-002-b'],
    ['B-001-a', 'B-002-b'],
  ]);
});

it('gives the same frontier when updated as when rebuilt', () => {
  const subjects = [...plan().subjects()];
  const step = fc.tuple(fc.constantFrom(...subjects), fc.constantFrom('held', 'free', 'done'));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const harness = new FrontierHarness();
      harness.frontierIds();
      for (const [subject, to] of steps) {
        harness.moveHead(subject, to as 'held' | 'free' | 'done');
        expect(nonEmpty(harness.frontierIds())).toEqual(nonEmpty(harness.frontierIds(new Frontier())));
      }
    }),
  );
});

it('gives the same frontier if heads move during a rebuild', () => {
  const subjects = [...plan().subjects()];
  const step = fc.record({
    rest: fc.nat(6),
    subject: fc.constantFrom(...subjects),
    to: fc.constantFrom('held', 'free', 'done'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const harness = new FrontierHarness();
      const rebuild = harness.frontier.rebuildInSlices(harness);
      for (const { rest, subject, to } of steps) {
        for (let taken = 0; taken < rest; taken += 1) rebuild.next();
        harness.moveHead(subject, to as 'held' | 'free' | 'done');
      }
      runAtOnce(rebuild);
      expect(nonEmpty(harness.frontierIds())).toEqual(nonEmpty(harness.frontierIds(new Frontier())));
    }),
  );
});

it('the frontier has the plan version from the start of its rebuild, and needs another rebuild after a plan change', () => {
  const harness = new FrontierHarness();
  const rebuild = harness.frontier.rebuildInSlices(harness);
  rebuild.next();
  const added = [{ id: 'C-001-late', description: 'late' }];
  applyPlanChange(harness.plan, { added, changed: [], removed: ['B-002-b'] });
  runAtOnce(rebuild);
  expect(harness.frontier.rebuiltVersion).toBeLessThan(harness.frontier.currentVersion(harness.plan));
  expect(nonEmpty(harness.frontierIds())).toEqual([['A-001-a'], ['B-001-a'], ['C-001-late']]);
});

it('the frontier needs a rebuild if one head frees more subjects than an update handles', () => {
  const harness = new FrontierHarness();
  const waiting = Array.from({ length: 999 }, (_, index) => ({
    id: `C-${String(index + 1).padStart(3, '0')}-c`,
    description: 'waits',
    depends_on: ['A-001-a'],
    subtasks: 2,
  }));
  applyPlanChange(harness.plan, { added: waiting, changed: [], removed: [] });
  harness.frontierIds();
  harness.moveHead('A-001-a', 'done');
  expect(harness.frontier.rebuiltVersion).toBeLessThan(harness.frontier.currentVersion(harness.plan));
  expect(nonEmpty(harness.frontierIds()).map((ids) => ids.length)).toEqual([2, 2, 1998]);
});
