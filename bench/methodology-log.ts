import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Coordinator } from '../src/coordinator/coordinator.js';
import { isProblem, type Problem } from '../src/coordinator/wire/problem.js';
import type { ClaimResult } from '../src/core/contract/claim-replies.js';
import type { ProjectKey } from '../src/stores/store.js';
import { loadWorkspace } from '../src/workspace/load.js';
import { openWorkspaceStore } from '../src/workspace/store.js';
import { Workspace } from '../src/workspace/workspace.js';

const EDGES = ['intent_requirements', 'requirements_design', 'design_code', 'code_unit_tests'] as const;
/** Iterations of an edge, between its claim and its convergence. */
const ITERATIONS = 8;
const EVENTS_PER_EDGE = ITERATIONS + 2;

/** Creates a workspace whose log holds at least this many events, as agents would produce them. */
export async function workspaceWithLog(root: string, events: number): Promise<Workspace> {
  const workspace = new Workspace(root);
  await mkdir(workspace.events, { recursive: true });
  await writeFile(workspace.path('coordination.yml'), 'project:\n  name: bench\n  project_id: bench\n');
  await writeIntent(root);
  const { store, blobs, key } = await openWorkspaceStore(workspace, () => {});
  const coordinator = await Coordinator.open({ store, blobs, limits: { max_concurrent_claims: 100_000 } });
  const count = Math.ceil(events / EVENTS_PER_EDGE / EDGES.length);
  const features = Array.from(
    { length: count },
    (_, index) => `REQ-F-BENCH-${String(index + 1).padStart(3, '0')}`,
  );
  await mkdir(workspace.path('features/active'), { recursive: true });
  for (const id of features) await writeFile(workspace.path(`features/active/${id}.yml`), featureText(id));
  unwrap(await loadWorkspace(workspace, coordinator, key));
  await Promise.all(
    features.map((featureId, index) => workOn(coordinator, key, featureId, `agent-${index % 10}`)),
  );
  coordinator.close();
  await store.close();
  return workspace;
}

async function writeIntent(root: string): Promise<void> {
  await mkdir(join(root, 'specification'), { recursive: true });
  await writeFile(join(root, 'specification/INTENT.md'), '# Intent\n\nA log to measure with.\n');
}

const featureText = (id: string): string =>
  `feature: ${id}\ntitle: Work to measure with\nvector_type: feature\nprofile: standard\npriority: medium\n`;

async function workOn(
  coordinator: Coordinator,
  projectKey: ProjectKey,
  feature_id: string,
  agent_id: string,
): Promise<void> {
  const session_id = `s-${agent_id}`;
  for (const edge of EDGES) {
    const granted = unwrap<ClaimResult>(
      await coordinator.claims.claimTask(projectKey, {
        feature_id,
        edge,
        agent_id,
        session_id,
        agent_role: 'human',
      }),
    );
    if (granted.claim === null) throw new Error(granted.reason);
    const { task_id, generation } = granted.claim;
    for (let iteration = 1; iteration <= ITERATIONS; iteration += 1) {
      const payload = { iteration, status: 'iterating', delta: ITERATIONS - iteration };
      const event = {
        event_type: 'iteration_completed',
        feature_id,
        edge,
        agent_id,
        session_id,
        generation,
        payload,
      };
      unwrap(await coordinator.holder.appendEvent(projectKey, event));
    }
    unwrap(
      await coordinator.holder.submitResult(projectKey, {
        task_id,
        session_id,
        generation,
        result_data: { done: true },
      }),
    );
  }
}

function unwrap<T extends object>(reply: T | Problem): T {
  if (isProblem(reply)) throw new Error(JSON.stringify(reply));
  return reply;
}
