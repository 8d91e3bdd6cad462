import { type Measured, timed } from '../measurement.js';
import { Connection } from './connection.js';
import { countCpu } from './cpu.js';
import { Told, type Word } from './fleet-replies.js';
import { type Pace, WARM_UP_SECONDS } from './paced.js';
import { plannedTasks, type Task } from './plan.js';

/** Items in flight at a time, spread over as many requests as needed. */
const ITEMS_IN_FLIGHT = 1_000;
const REQUESTS_IN_FLIGHT_MIN = 2;
const TASKS_PER_SECOND = 6_000;

export interface BatchedPace extends Pace {
  /** Items per request; one run for each value. */
  readonly batch: readonly number[];
}

export interface BatchRun {
  readonly items: number;
  readonly claims: Measured;
  readonly submits: Measured;
}

/** Sends batches of claims, then batches of results for them; all batch sizes run on the same warm server. */
export async function batched({ url, pid, agents, seconds, batch }: BatchedPace) {
  const warming = await plannedTasks(url, TASKS_PER_SECOND * WARM_UP_SECONDS, 'warm-up');
  const told = new Told();
  const crew = { url, pid, agents, told };
  const [first = ITEMS_IN_FLIGHT] = batch;
  await runOf(crew, warming, first);
  const runs: BatchRun[] = [];
  for (const items of batch) {
    const tasks = await plannedTasks(url, TASKS_PER_SECOND * seconds, `batches-of-${items}`);
    runs.push(await runOf(crew, tasks, items));
  }
  return { runs, told };
}

interface Crew {
  readonly url: string;
  readonly pid: number;
  readonly agents: number;
  readonly told: Told;
}

async function runOf(
  { url, pid, agents, told }: Crew,
  tasks: readonly Task[],
  items: number,
): Promise<BatchRun> {
  const in_flight = Math.max(REQUESTS_IN_FLIGHT_MIN, Math.ceil(ITEMS_IN_FLIGHT / items));
  const connections = Array.from({ length: in_flight }, () => new Connection(url));
  const told_before = told.granted.length;
  const batches = inBatches(tasks, items);
  const claims = await drive('take', batches, { pid, connections }, async (batch, connection, number) => {
    const claims = batch.map(({ task_id }, at) => {
      const agent = (number * items + at) % agents;
      return { task_id, agent_id: `agent-${agent}`, session_id: `session-${agent}` };
    });
    const { results } = await ask(connection, `${batch[0]!.path}/claims/batch`, { claims });
    results.forEach((result: { success: boolean; claim: Word }, at: number) => {
      if (!result.success) told.refused += 1;
      else told.granted.push({ ...result.claim, project_id: batch[at]!.project_id });
    });
  });
  const held = heldOf(tasks, told.granted.slice(told_before));
  const submits = await drive(
    'complete',
    inBatches(held, items),
    { pid, connections },
    async (batch, connection) => {
      const items = batch.map(({ task_id, session_id, generation }) => ({
        ...{ task_id, session_id, generation },
        result_data: { summary: 'done', by: session_id },
      }));
      const { results } = await ask(connection, `${batch[0]!.path}/results/batch`, { items });
      results.forEach((result: { accepted: boolean }, at: number) => {
        if (result.accepted) told.completed.push(batch[at]!);
        else told.refused += 1;
      });
    },
  );
  await Promise.all(connections.map((connection) => connection.close()));
  return { items, claims, submits };
}

type Held = Word & Pick<Task, 'path'>;

function heldOf(tasks: readonly Task[], granted: readonly Word[]): Held[] {
  const paths = new Map(tasks.map(({ project_id, path }) => [project_id, path]));
  return granted.map(({ project_id, task_id, session_id, generation }) => ({
    ...{ project_id, task_id, session_id, generation },
    path: paths.get(project_id)!,
  }));
}

/** Splits items into batches of one project each. */
function inBatches<Item extends { readonly path: string }>(items: readonly Item[], size: number): Item[][] {
  const batches: Item[][] = [];
  for (const item of items) {
    const last = batches.at(-1);
    if (last === undefined || last.length === size || last[0]!.path !== item.path) batches.push([item]);
    else last.push(item);
  }
  return batches;
}

async function drive<Item>(
  operation: 'take' | 'complete',
  batches: readonly (readonly Item[])[],
  { pid, connections }: { pid: number; connections: readonly Connection[] },
  send: (batch: readonly Item[], connection: Connection, number: number) => Promise<void>,
): Promise<Measured> {
  const took_ms: number[] = [];
  let next = 0;
  let items = 0;
  const cpuSince = countCpu(pid);
  const began_ms = performance.now();
  const one = async (connection: Connection): Promise<void> => {
    while (next < batches.length) {
      const number = next++;
      const batch = batches[number]!;
      const asked_ms = performance.now();
      await send(batch, connection, number);
      took_ms.push(performance.now() - asked_ms);
      items += batch.length;
    }
  };
  await Promise.all(connections.map(one));
  return {
    seconds: (performance.now() - began_ms) / 1000,
    jobs: items,
    requests: batches.length,
    server_cpu_seconds: cpuSince(),
    operations: { [operation]: timed(took_ms) },
  };
}

async function ask(connection: Connection, path: string, body: object) {
  const reply = await connection.post(path, { ...body, request_id: crypto.randomUUID() });
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  return reply.body;
}
