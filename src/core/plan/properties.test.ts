import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runAllSteps } from '../steps.js';
import { addTasks } from './add-tasks.js';
import { dependantsOf, dependenciesOf, taskDependencies } from './dependency-graph.js';
import { applyPlanChange, Plan } from './plan.js';
import { diffPlan, isNoChange, splitChange } from './plan-change.js';
import type { PlanFault } from './plan-faults.js';
import { compareRank, openDependenciesOf, type RankedSubject, rankedSubject } from './ranking.js';
import { readPlan } from './read-plan.js';
import { renderPlan } from './render.js';
import { NOTHING_STARTED } from './started-tasks.js';
import type { PlannedTask, TaskInput } from './task.js';
import { groupByTrack, planChangeWith, planOf, planOfTasks } from './testing.js';
import { weightOf, weightSteps } from './weights.js';

const distinctDependants = (plan: Plan, id: string): string[] => [...new Set(dependantsOf(plan, id))];
const paddedSequence = (sequence: number): string => String(sequence).padStart(3, '0');
const taskIdAt = (track: string, sequence: number): string => `${track}-${paddedSequence(sequence)}-t`;

/**
 * Valid plans. Tasks are numbered so that every dependency, explicit or implicit, points to a smaller number in any
 * track: there can be no cycle.
 */
const validTasks = (tasksMax = 12): fc.Arbitrary<TaskInput[]> =>
  fc
    .array(
      fc.record({
        track: fc.constantFrom('A', 'B', 'XY'),
        waits: fc.option(fc.array(fc.nat(1000), { maxLength: 3 }), { nil: undefined }),
        subtasks: fc.oneof(
          { weight: 3, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
          {
            weight: 1,
            arbitrary: fc.array(fc.array(fc.nat(1000), { maxLength: 2 }), { minLength: 1, maxLength: 3 }),
          },
        ),
        priority: fc.integer({ min: -2, max: 2 }),
        gone: fc.boolean(),
      }),
      { maxLength: tasksMax },
    )
    .map((drawn) => {
      const tasks: TaskInput[] = [];
      drawn.forEach(({ track, waits, subtasks, priority, gone }, at) => {
        if (gone && at % 3 === 0) return;
        const earlier = tasks.flatMap((task) => [
          task.id,
          ...(task.subtasks === undefined ? [] : [`${task.id}::1`]),
        ]);
        const pick = (picks: readonly number[]): string[] =>
          earlier.length === 0
            ? []
            : [...new Set(picks.map((one) => earlier[one % earlier.length] as string))];
        tasks.push({
          id: taskIdAt(track, at + 1),
          description: `task ${at}`,
          ...(waits === undefined ? {} : { depends_on: pick(waits) }),
          ...(priority === 0 ? {} : { priority }),
          ...(subtasks === undefined
            ? {}
            : {
                subtasks:
                  typeof subtasks === 'number'
                    ? subtasks
                    : subtasks.map((picks, index) => ({
                        description: `part ${index}`,
                        depends_on: pick(picks),
                      })),
              }),
        });
      });
      return tasks;
    });

/** Everything that can be queried from a plan, in a fixed order. */
function planContents(plan: Plan) {
  const subjects = [...plan.subjects()];
  return {
    written: renderPlan(plan),
    counts: [plan.task_count, plan.subject_count],
    waits: subjects.map((id) => [id, dependenciesOf(plan, id)]),
    waited: subjects.map((id) => [id, distinctDependants(plan, id).sort()]),
  };
}

describe('any plan', () => {
  it('is the same after partial changes as when built from scratch', () => {
    fc.assert(
      fc.property(fc.array(validTasks(), { minLength: 1, maxLength: 4 }), (versions) => {
        const plan = new Plan();
        const log = [];
        for (const tasks of versions) {
          for (const part of splitChange(diffPlan(plan, groupByTrack(tasks)))) {
            log.push(part);
            applyPlanChange(plan, part);
          }
        }
        const rebuilt = log.reduce(applyPlanChange, new Plan());
        const last = planOfTasks(versions.at(-1) ?? []);
        expect(planContents(plan)).toEqual(planContents(last));
        expect(planContents(rebuilt)).toEqual(planContents(last));
      }),
      { numRuns: 150 },
    );
  });

  it('is the same when read back from its rendered form', () => {
    fc.assert(
      fc.property(validTasks(), (tasks) => {
        const plan = planOfTasks(tasks);
        expect(isNoChange(diffPlan(plan, renderPlan(plan)))).toBe(true);
        expect(
          planContents(
            planOf({
              yaml: stringify(renderPlan(plan, 'shop'), { aliasDuplicateObjects: false, schema: 'core' }),
            }),
          ),
        ).toEqual(planContents(plan));
      }),
      { numRuns: 100 },
    );
  });

  it('lists dependants as the reverse of dependencies', () => {
    fc.assert(
      fc.property(validTasks(), (tasks) => {
        const plan = planOfTasks(tasks);
        const forward = [...plan.subjects()].flatMap((id) =>
          dependenciesOf(plan, id).map((on) => `${on} ${id}`),
        );
        const backward = [...plan.subjects()].flatMap((on) =>
          distinctDependants(plan, on).map((id) => `${on} ${id}`),
        );
        expect(backward.sort()).toEqual(forward.sort());
      }),
      { numRuns: 150 },
    );
  });
});

/** Brute force: follows every dependency until it comes back. */
function hasCycle(dependencies: ReadonlyMap<string, readonly string[]>): boolean {
  const reachableFrom = (from: string, seen: Set<string>): Set<string> => {
    for (const id of dependencies.get(from) ?? []) if (!seen.has(id)) reachableFrom(id, seen.add(id));
    return seen;
  };
  return [...dependencies.keys()].some((id) => reachableFrom(id, new Set()).has(id));
}

describe('cycles', () => {
  /** Plans whose dependencies point anywhere. */
  const anyTasks = fc
    .array(
      fc.record({
        waits: fc.option(fc.array(fc.nat(1000), { maxLength: 2 }), { nil: undefined }),
        parts: fc.array(fc.array(fc.nat(1000), { maxLength: 1 }), { maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 7 },
    )
    .map((drawn) => {
      const ids = drawn.flatMap(({ parts }, at) => [
        taskIdAt('A', at + 1),
        ...parts.map((_, index) => `${taskIdAt('A', at + 1)}::${index + 1}`),
      ]);
      const pick = (picks: readonly number[], owner: string) =>
        [...new Set(picks.map((one) => ids[one % ids.length] as string))].filter(
          (id) => id !== owner && !id.startsWith(`${owner}::`),
        );
      return drawn.map(({ waits, parts }, at): TaskInput => {
        const id = taskIdAt('A', at + 1);
        const subtasks = parts.map((picks, index) => ({
          description: 'part',
          depends_on: pick(picks, `${id}::${index + 1}`),
        }));
        return {
          id,
          description: 'task',
          ...(waits === undefined ? {} : { depends_on: pick(waits, id) }),
          ...(subtasks.length === 0 ? {} : { subtasks }),
        };
      });
    });

  // req: PLN-011
  it('are found if and only if they exist, and each reported cycle is real', () => {
    let circular = 0;
    fc.assert(
      fc.property(anyTasks, (tasks) => {
        const plan = applyPlanChange(new Plan(), planChangeWith({ added: tasks }));
        const waits = new Map([...plan.subjects()].map((id) => [id, dependenciesOf(plan, id)]));
        const reading = readPlan({ json: groupByTrack(tasks) }, null, NOTHING_STARTED);
        const codes = reading.ok ? [] : reading.faults.map((fault) => fault.code);
        expect(codes.includes('CYCLE')).toBe(hasCycle(waits));
        expect(codes.filter((code) => code !== 'CYCLE')).toEqual([]);
        for (const fault of reading.ok ? [] : reading.faults) {
          const circle = /: (.*?)\. Remove/.exec(fault.message)?.[1]?.split(' → ') ?? [];
          expect(circle.length).toBeGreaterThan(1);
          circle.slice(1).forEach((id, index) => {
            // A long cycle is shortened to its beginning and its end.
            const before = circle[index] as string;
            if (!id.startsWith('…') && !before.startsWith('…')) expect(waits.get(before)).toContain(id);
          });
          circular += 1;
        }
      }),
      { numRuns: 400 },
    );
    expect(circular).toBeGreaterThan(0);
  });

  it('are found equally when tasks are added later', () => {
    fc.assert(
      fc.property(anyTasks, fc.nat(7), (tasks, cut) => {
        const base = tasks.slice(0, cut).map((task) => ({ ...task, depends_on: [], subtasks: 2 }));
        const added = tasks.slice(cut);
        const plan = planOfTasks(base);
        const before = planContents(plan);
        const inParts = addTasks(plan, added, NOTHING_STARTED);
        const atOnce = readPlan({ json: groupByTrack([...base, ...added]) }, plan, NOTHING_STARTED);
        const faultCodes = (reading: { ok: boolean; faults?: readonly PlanFault[] }) =>
          new Set(reading.faults?.map((fault) => fault.code));
        expect(faultCodes(inParts)).toEqual(faultCodes(atOnce));
        expect(planContents(plan)).toEqual(before);
        if (inParts.ok && atOnce.ok) expect(inParts.change).toEqual(atOnce.change);
      }),
      { numRuns: 300 },
    );
  });
});

/**
 * Removes dependencies that a subtask repeats from its task: they are allowed, but counted twice and not what is tested
 * here.
 */
function withoutRepeats(tasks: readonly TaskInput[]): TaskInput[] {
  const plan = planOfTasks(tasks);
  return tasks.map((task) => {
    const inherited = taskDependencies(plan, plan.task(task.id) as PlannedTask);
    if (!Array.isArray(task.subtasks)) return task;
    const subtasks = task.subtasks.map((one) => ({
      ...one,
      depends_on: one.depends_on?.filter((id) => !inherited.includes(id)),
    }));
    return { ...task, subtasks };
  });
}

describe('the order of ready work', () => {
  it('is total and transitive', () => {
    fc.assert(
      fc.property(validTasks(), (tasks) => {
        const plan = planOfTasks(tasks);
        const weights = runAllSteps(weightSteps(plan));
        const subjects = [...plan.subjects()].map((id) => rankedSubject(plan, weights, id) as RankedSubject);
        const sorted = [...subjects].sort(compareRank);
        sorted.forEach((a, i) => {
          sorted.forEach((b, j) => {
            expect(Math.sign(compareRank(a, b))).toBe(Math.sign(i - j));
          });
        });
      }),
      { numRuns: 100 },
    );
  });

  it('weighs each subject by its direct and transitive dependants', () => {
    fc.assert(
      fc.property(validTasks(8), (tasks) => {
        const plan = planOfTasks(withoutRepeats(tasks));
        const naiveWeight = (id: string): number =>
          distinctDependants(plan, id).reduce((sum, one) => sum + 1 + naiveWeight(one), 0);
        const weights = runAllSteps(weightSteps(plan));
        for (const id of plan.subjects())
          expect([id, weightOf(plan, weights, id)]).toEqual([id, naiveWeight(id)]);
      }),
      { numRuns: 100 },
    );
  });

  it('lets all work complete, one ready subject after the other', () => {
    fc.assert(
      fc.property(validTasks(), (tasks) => {
        const plan = planOfTasks(tasks);
        const done = new Set<string>();
        const open = new Set(plan.subjects());
        while (open.size > 0) {
          const ready = [...open].filter(
            (id) => openDependenciesOf(plan, id, (one) => done.has(one)).length === 0,
          );
          expect(ready).not.toEqual([]);
          for (const id of ready) open.delete(id) && done.add(id);
        }
      }),
      { numRuns: 100 },
    );
  });
});
