import { tracksOf } from '../../harness.js';

export const BENCH_TENANT = 'bench';
const TASKS_PER_PROJECT = 20_000;

export interface BenchTask {
  /** Path of the project: `/api/tenants/…/projects/…`. */
  readonly path: string;
  readonly project_id: string;
  readonly task_id: string;
}

/** Uploads plans with this many tasks, all without dependencies. */
export async function uploadPlans(
  url: string,
  count: number,
  name = 'project',
  token?: string,
): Promise<BenchTask[]> {
  const headers = {
    'content-type': 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const tasks: BenchTask[] = [];
  for (let projectNumber = 0; tasks.length < count; projectNumber += 1) {
    const project_id = `${name}-${projectNumber}`;
    const path = `/api/tenants/${BENCH_TENANT}/projects/${project_id}`;
    const tracks = tracksOf(Math.min(TASKS_PER_PROJECT, count - tasks.length));
    const reply = await fetch(`${url}${path}/plan`, {
      method: 'PUT',
      headers,
      body: JSON.stringify({ tracks }),
    });
    if (!reply.ok) throw new Error(`The plan was refused: ${await reply.text()}`);
    for (const { id } of Object.values(tracks).flat()) tasks.push({ path, project_id, task_id: id });
  }
  return tasks;
}
