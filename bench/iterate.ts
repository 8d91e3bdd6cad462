import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Coordinator, isProblem } from '../src/coordinator/index.js';
import { systemEnvironment } from '../src/coordinator/runtime/environment.js';
import { buildEdgePlan } from '../src/core/engine/testing.js';
import { executeRun, type RunEnd } from '../src/engine/runs/execute-run.js';
import { instantHost, scriptedServices } from '../src/engine/testing/engine-harness.js';
import { openFileStore } from '../src/stores/file/file-store.js';
import { FolderBlobs } from '../src/stores/file/folder-blobs.js';
import { newTempFolder } from './harness.js';
import { integerText, table } from './table.js';

const key = { tenant_id: 'bench', project_id: 'iterate' };
const ITERATIONS = 5;
const RUNS = 200;
const EDGE_FILE = `
edge: "design→code"
checklist:
  - { name: tests_pass, type: deterministic, criterion: tests pass, required: true, command: make }
convergence: { max_iterations: ${ITERATIONS} }
`;

/** Measures the engine's own cost of an iteration: the constructor and the check do nothing. */
export async function benchIterate(): Promise<void> {
  const rows: string[][] = [];
  await measure(20, 20);
  rows.push(await measure(RUNS, 1));
  rows.push(await measure(RUNS, RUNS));
  console.log(
    `\nThe iterate engine: ${ITERATIONS} iterations a run, file store, no-op constructor and check\n`,
  );
  console.log(
    table(['runs at once', 'iterations', 'ms per iteration', 'CPU ms per iteration', 'events'], rows),
  );
}

async function measure(runs: number, concurrentRuns: number): Promise<string[]> {
  const root = await newTempFolder();
  const store = await openFileStore({ root: join(root, 'store') });
  const blobs = new FolderBlobs(join(root, 'blobs'));
  const coordinator = await Coordinator.open({
    store,
    blobs,
    limits: { max_concurrent_claims: 1000, max_active_sessions: 1000 },
  });
  const features = Array.from({ length: runs }, (_, index) => `REQ-F-${index}`);
  const featureFiles = features.map((id) => [
    `features/active/${id}.yml`,
    `feature: ${id}\ntitle: ${id}\nprofile: standard\n`,
  ]);
  const files = { 'graph/edges/design_code.yml': EDGE_FILE, ...Object.fromEntries(featureFiles) };
  const configured = await coordinator.settings.configure(key, { files });
  if (isProblem(configured)) throw new Error(configured.detail);
  const startMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const ends: RunEnd[] = [];
  for (let from = 0; from < runs; from += concurrentRuns) {
    const batch = features
      .slice(from, from + concurrentRuns)
      .map((feature) => runOnce({ coordinator, store, blobs, key, environment: systemEnvironment }, feature));
    ends.push(...(await Promise.all(batch)));
  }
  const elapsedMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  if (ends.some((end) => end.status !== 'ENDED' || end.run.status !== 'CONVERGED'))
    throw new Error('A run of the benchmark has not converged.');
  const iterations = runs * ITERATIONS;
  const position = (await store.project(key))?.position ?? 0;
  coordinator.close();
  await store.close();
  await rm(root, { recursive: true, force: true });
  const perIteration = (total: number): string => (total / iterations).toFixed(2);
  return [
    integerText(concurrentRuns),
    integerText(iterations),
    perIteration(elapsedMs),
    perIteration((user + system) / 1000),
    integerText(position),
  ];
}

/** Executes a run whose last iteration passes. */
function runOnce(harness: Parameters<typeof scriptedServices>[0], feature_id: string) {
  const plan = buildEdgePlan({
    feature_id,
    edge: 'design_code',
    max_iterations: ITERATIONS,
    stuck_threshold: ITERATIONS + 1,
  });
  const script = {
    plan,
    candidate: String,
    passes: (_: string, content: string) => content === String(ITERATIONS),
  };
  const services = scriptedServices(harness, script, { agent_id: `engine-${feature_id}` });
  const request = { ...key, feature_id, edge: 'design_code', agent_role: 'full_stack' };
  return executeRun(request, services, instantHost(), new AbortController().signal);
}
