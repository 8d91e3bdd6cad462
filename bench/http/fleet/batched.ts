import { type RunMeasurement, summarizeLatencies } from '../measurement.js';
import { Connection } from './connection.js';
import { startCpuMeter } from './cpu.js';
import { FleetReplies, type ReplyRecord } from './fleet-replies.js';
import { type LoadOptions, WARM_UP_SECONDS } from './paced.js';
import { type BenchTask, uploadPlans } from './plan.js';

/** Items in flight at a time, spread over as many requests as needed. */
const ITEMS_IN_FLIGHT = 1_000;
const REQUESTS_IN_FLIGHT_MIN = 2;
const TASKS_PER_SECOND = 6_000;

export interface BatchedLoadOptions extends LoadOptions {
  /** Items per request; one run for each value. */
  readonly batchSizes: readonly number[];
}

export interface BatchRun {
  /** Items per request. */
  readonly batchSize: number;
  readonly claims: RunMeasurement;
  readonly submits: RunMeasurement;
}

/** Sends batches of claims, then batches of results for them; all batch sizes run on the same warm server. */
export async function measureBatched({ url, pid, agents, seconds, batchSizes }: BatchedLoadOptions) {
  const warmUpTasks = await uploadPlans(url, TASKS_PER_SECOND * WARM_UP_SECONDS, 'warm-up');
  const replies = new FleetReplies();
  const clients = { url, pid, agents, replies };
  const [firstBatchSize = ITEMS_IN_FLIGHT] = batchSizes;
  await runBatches(clients, warmUpTasks, firstBatchSize);
  const runs: BatchRun[] = [];
  for (const batchSize of batchSizes) {
    const tasks = await uploadPlans(url, TASKS_PER_SECOND * seconds, `batches-of-${batchSize}`);
    runs.push(await runBatches(clients, tasks, batchSize));
  }
  return { runs, replies };
}

interface BatchClients {
  readonly url: string;
  readonly pid: number;
  readonly agents: number;
  readonly replies: FleetReplies;
}

async function runBatches(
  { url, pid, agents, replies }: BatchClients,
  tasks: readonly BenchTask[],
  batchSize: number,
): Promise<BatchRun> {
  const inFlight = Math.max(REQUESTS_IN_FLIGHT_MIN, Math.ceil(ITEMS_IN_FLIGHT / batchSize));
  const connections = Array.from({ length: inFlight }, () => new Connection(url));
  const grantedBefore = replies.granted.length;
  const batches = inBatches(tasks, batchSize);
  const claims = await driveBatches(
    'claim',
    batches,
    { pid, connections },
    async (batch, connection, batchIndex) => {
      const claims = batch.map(({ task_id }, at) => {
        const agent = (batchIndex * batchSize + at) % agents;
        return { task_id, agent_id: `agent-${agent}`, session_id: `session-${agent}` };
      });
      const { results } = await postOrThrow(connection, `${batch[0]!.path}/claims/batch`, { claims });
      results.forEach((result: { success: boolean; claim: ReplyRecord }, at: number) => {
        if (!result.success) replies.refused += 1;
        else replies.granted.push({ ...result.claim, project_id: batch[at]!.project_id });
      });
    },
  );
  const heldTasks = heldTasksOf(tasks, replies.granted.slice(grantedBefore));
  const submits = await driveBatches(
    'complete',
    inBatches(heldTasks, batchSize),
    { pid, connections },
    async (batch, connection) => {
      const items = batch.map(({ task_id, session_id, generation }) => ({
        ...{ task_id, session_id, generation },
        result_data: { summary: 'done', by: session_id },
      }));
      const { results } = await postOrThrow(connection, `${batch[0]!.path}/results/batch`, { items });
      results.forEach((result: { accepted: boolean }, at: number) => {
        if (result.accepted) replies.completed.push(batch[at]!);
        else replies.refused += 1;
      });
    },
  );
  await Promise.all(connections.map((connection) => connection.close()));
  return { batchSize, claims, submits };
}

type HeldTask = ReplyRecord & Pick<BenchTask, 'path'>;

function heldTasksOf(tasks: readonly BenchTask[], granted: readonly ReplyRecord[]): HeldTask[] {
  const paths = new Map(tasks.map(({ project_id, path }) => [project_id, path]));
  return granted.map(({ project_id, task_id, session_id, generation }) => ({
    ...{ project_id, task_id, session_id, generation },
    path: paths.get(project_id)!,
  }));
}

/** Splits items into batches of one project each. */
export function inBatches<Item extends { readonly path: string }>(
  items: readonly Item[],
  size: number,
): Item[][] {
  const batches: Item[][] = [];
  for (const item of items) {
    const last = batches.at(-1);
    if (last === undefined || last.length === size || last[0]!.path !== item.path) batches.push([item]);
    else last.push(item);
  }
  return batches;
}

async function driveBatches<Item>(
  operation: 'claim' | 'complete',
  batches: readonly (readonly Item[])[],
  { pid, connections }: { pid: number; connections: readonly Connection[] },
  send: (batch: readonly Item[], connection: Connection, batchIndex: number) => Promise<void>,
): Promise<RunMeasurement> {
  const latenciesMs: number[] = [];
  let next = 0;
  let items = 0;
  const cpuSince = startCpuMeter(pid);
  const startMs = performance.now();
  const sendRemainingBatches = async (connection: Connection): Promise<void> => {
    while (next < batches.length) {
      const batchIndex = next++;
      const batch = batches[batchIndex]!;
      const callStartMs = performance.now();
      await send(batch, connection, batchIndex);
      latenciesMs.push(performance.now() - callStartMs);
      items += batch.length;
    }
  };
  await Promise.all(connections.map(sendRemainingBatches));
  return {
    seconds: (performance.now() - startMs) / 1000,
    jobs: items,
    requests: batches.length,
    server_cpu_seconds: cpuSince(),
    latencies: { [operation]: summarizeLatencies(latenciesMs) },
  };
}

export async function postOrThrow(connection: Connection, path: string, body: object) {
  const reply = await connection.post(path, { ...body, request_id: crypto.randomUUID() });
  if (reply.status !== 200) throw new Error(JSON.stringify(reply.body));
  return reply.body;
}
