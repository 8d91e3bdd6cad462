import type { Rng } from '../world/rng.js';

interface SimTaskInput {
  readonly id: string;
  readonly description: string;
  readonly depends_on?: readonly string[];
  readonly priority?: number;
  readonly subtasks?: number;
}

/** A plan as a client sends it, with all subjects that can be claimed. */
export interface SimPlan {
  readonly input: { readonly tracks: Readonly<Record<string, readonly SimTaskInput[]>> };
  readonly subjects: readonly string[];
}

/** Edges are claimed by name and are part of no plan. */
const EDGES = ['REQ-F-AUTH-001#design_code', 'REQ-F-AUTH-001#code_unit_tests'];

/** A plan of a few tracks, with dependencies across tracks and merges of subtasks. */
export function planFor(rng: Rng): SimPlan {
  const tracks: Record<string, SimTaskInput[]> = {};
  const taskIds: string[] = [];
  for (const track of ['A', 'B', 'C'].slice(0, 1 + rng.int(3))) {
    const tasks: SimTaskInput[] = [];
    const count = 1 + rng.int(4);
    for (let sequence = 1; sequence <= count; sequence += 1) {
      const task = taskFor(rng, `${track}-00${sequence}-work`, taskIds);
      tasks.push(task);
      taskIds.push(task.id);
    }
    tracks[track] = tasks;
  }
  return { input: { tracks }, subjects: [...subjectsIn(tracks), ...EDGES] };
}

function taskFor(rng: Rng, id: string, earlierIds: readonly string[]): SimTaskInput {
  const dependency = rng.weighted({ before: 1, nothing: 2, another: 1 });
  const depends_on = dependency === 'another' && earlierIds.length > 0 ? [rng.pick(earlierIds)] : [];
  return {
    id,
    description: `do ${id}`,
    ...(dependency === 'before' ? {} : { depends_on }),
    ...(rng.chance(0.3) ? { priority: rng.int(10) } : {}),
    ...(rng.chance(0.4) ? { subtasks: 1 + rng.int(3) } : {}),
  };
}

function subjectsIn(tracks: SimPlan['input']['tracks']): string[] {
  return Object.values(tracks).flatMap((tasks) =>
    tasks.flatMap(({ id, subtasks = 0 }) => [
      id,
      ...Array.from({ length: subtasks }, (_, index) => `${id}::${index + 1}`),
    ]),
  );
}
