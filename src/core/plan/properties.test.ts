import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runAtOnce } from '../sliceable-work.js';
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
import { planChangeWith, planInputOf, planOf, planOfTasks } from './testing.js';
import { weighInSlices, weightOf } from './weights.js';

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
        dependencyPicks: fc.option(fc.array(fc.nat(1000), { maxLength: 3 }), { nil: undefined }),
        subtasks: fc.oneof(
          { weight: 3, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
          {
            weight: 1,
            arbitrary: fc.array(fc.array(fc.nat(1000), { maxLength: 2 }), { minLength: 1, maxLength: 3 }),
          },
        ),
        priority: fc.integer({ min: -2, max: 2 }),
        mayBeLeftOut: fc.boolean(),
      }),
      { maxLength: tasksMax },
    )
    .map((drawnTasks) => {
      const tasks: TaskInput[] = [];
      drawnTasks.forEach(({ track, dependencyPicks, subtasks, priority, mayBeLeftOut }, index) => {
        if (mayBeLeftOut && index % 3 === 0) return;
        const earlierIds = tasks.flatMap((task) => [
          task.id,
          ...(task.subtasks === undefined ? [] : [`${task.id}::1`]),
        ]);
        const pick = (picks: readonly number[]): string[] =>
          earlierIds.length === 0
            ? []
            : [...new Set(picks.map((pickedIndex) => earlierIds[pickedIndex % earlierIds.length] as string))];
        tasks.push({
          id: taskIdAt(track, index + 1),
          description: `task ${index}`,
          ...(dependencyPicks === undefined ? {} : { depends_on: pick(dependencyPicks) }),
          ...(priority === 0 ? {} : { priority }),
          ...(subtasks === undefined
            ? {}
            : {
                subtasks:
                  typeof subtasks === 'number'
                    ? subtasks
                    : subtasks.map((picks, part) => ({
                        description: `part ${part}`,
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
    rendered: renderPlan(plan),
    counts: [plan.task_count, plan.subject_count],
    dependencies: subjects.map((id) => [id, dependenciesOf(plan, id)]),
    dependants: subjects.map((id) => [id, distinctDependants(plan, id).sort()]),
  };
}

describe('any plan', () => {
  it('is the same after partial changes as when built from scratch', () => {
    fc.assert(
      fc.property(fc.array(validTasks(), { minLength: 1, maxLength: 4 }), (versions) => {
        const plan = new Plan();
        const log = [];
        for (const tasks of versions) {
          for (const part of splitChange(diffPlan(plan, planInputOf(tasks)))) {
            log.push(part);
            applyPlanChange(plan, part);
          }
        }
        const rebuilt = log.reduce(applyPlanChange, new Plan());
        const fromScratch = planOfTasks(versions.at(-1) ?? []);
        expect(planContents(plan)).toEqual(planContents(fromScratch));
        expect(planContents(rebuilt)).toEqual(planContents(fromScratch));
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

/** Brute force: follows the dependencies of every subject and looks for the subject itself. */
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
        dependencyPicks: fc.option(fc.array(fc.nat(1000), { maxLength: 2 }), { nil: undefined }),
        parts: fc.array(fc.array(fc.nat(1000), { maxLength: 1 }), { maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 7 },
    )
    .map((drawnTasks) => {
      const ids = drawnTasks.flatMap(({ parts }, taskIndex) => [
        taskIdAt('A', taskIndex + 1),
        ...parts.map((_, index) => `${taskIdAt('A', taskIndex + 1)}::${index + 1}`),
      ]);
      const pick = (picks: readonly number[], owner: string) =>
        [...new Set(picks.map((pickedIndex) => ids[pickedIndex % ids.length] as string))].filter(
          (id) => id !== owner && !id.startsWith(`${owner}::`),
        );
      return drawnTasks.map(({ dependencyPicks, parts }, taskIndex): TaskInput => {
        const id = taskIdAt('A', taskIndex + 1);
        const subtasks = parts.map((picks, index) => ({
          description: 'part',
          depends_on: pick(picks, `${id}::${index + 1}`),
        }));
        return {
          id,
          description: 'task',
          ...(dependencyPicks === undefined ? {} : { depends_on: pick(dependencyPicks, id) }),
          ...(subtasks.length === 0 ? {} : { subtasks }),
        };
      });
    });

  // req: PLN-011
  it('are found if and only if they exist, and each reported cycle is real', () => {
    let cyclesSeen = 0;
    fc.assert(
      fc.property(anyTasks, (tasks) => {
        const plan = applyPlanChange(new Plan(), planChangeWith({ added: tasks }));
        const dependencies = new Map([...plan.subjects()].map((id) => [id, dependenciesOf(plan, id)]));
        const reading = readPlan({ json: planInputOf(tasks) }, null, NOTHING_STARTED);
        const codes = reading.ok ? [] : reading.faults.map((fault) => fault.code);
        expect(codes.includes('CYCLE')).toBe(hasCycle(dependencies));
        expect(codes.filter((code) => code !== 'CYCLE')).toEqual([]);
        for (const fault of reading.ok ? [] : reading.faults) {
          const cycle = /: (.*?)\. Remove/.exec(fault.message)?.[1]?.split(' → ') ?? [];
          expect(cycle.length).toBeGreaterThan(1);
          cycle.slice(1).forEach((id, index) => {
            // A long cycle is shortened to its beginning and its end.
            const before = cycle[index] as string;
            if (!id.startsWith('…') && !before.startsWith('…'))
              expect(dependencies.get(before)).toContain(id);
          });
          cyclesSeen += 1;
        }
      }),
      { numRuns: 400 },
    );
    expect(cyclesSeen).toBeGreaterThan(0);
  });

  it('are found equally when tasks are added later', () => {
    fc.assert(
      fc.property(anyTasks, fc.nat(7), (tasks, cut) => {
        const base = tasks.slice(0, cut).map((task) => ({ ...task, depends_on: [], subtasks: 2 }));
        const added = tasks.slice(cut);
        const plan = planOfTasks(base);
        const before = planContents(plan);
        const inParts = addTasks(plan, added, NOTHING_STARTED);
        const atOnce = readPlan({ json: planInputOf([...base, ...added]) }, plan, NOTHING_STARTED);
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
 * Removes dependencies that a subtask repeats from its task. They are allowed, but the weight counts them twice, unlike the
 * naive weight of the test.
 */
function withoutRepeats(tasks: readonly TaskInput[]): TaskInput[] {
  const plan = planOfTasks(tasks);
  return tasks.map((task) => {
    const inherited = taskDependencies(plan, plan.task(task.id) as PlannedTask);
    if (!Array.isArray(task.subtasks)) return task;
    const subtasks = task.subtasks.map((subtask) => ({
      ...subtask,
      depends_on: subtask.depends_on?.filter((id) => !inherited.includes(id)),
    }));
    return { ...task, subtasks };
  });
}

describe('the order of ready work', () => {
  it('is total and transitive', () => {
    fc.assert(
      fc.property(validTasks(), (tasks) => {
        const plan = planOfTasks(tasks);
        const weights = runAtOnce(weighInSlices(plan));
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
          distinctDependants(plan, id).reduce((sum, dependant) => sum + 1 + naiveWeight(dependant), 0);
        const weights = runAtOnce(weighInSlices(plan));
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
            (id) => openDependenciesOf(plan, id, (dependency) => done.has(dependency)).length === 0,
          );
          expect(ready).not.toEqual([]);
          for (const id of ready) open.delete(id) && done.add(id);
        }
      }),
      { numRuns: 100 },
    );
  });
});
