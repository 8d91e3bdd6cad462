import type { Project } from '../../src/coordinator/queue/project.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import { taskInput } from '../../src/core/plan/task.js';
import {
  claimedSubjectsOf,
  foldProject,
  subjectsWithOpenClaim,
  type WorkState,
} from '../../src/core/views/index.js';
import type { CoordinatorInstance } from '../fleet/coordinator-instance.js';
import type { SimWorld } from '../world/world.js';
import type { ProjectMonitor } from './project-monitor.js';

/** Checks that a coordinator's up-to-date view of a project equals the fold of the whole log. */
export async function checkViews(
  world: SimWorld,
  instance: CoordinatorInstance,
  projectMonitor: ProjectMonitor,
): Promise<void> {
  const { projects } = instance.coordinator as unknown as {
    projects: { get(key: object): Promise<Project> };
  };
  const project = await projects.get(projectMonitor.key);
  await project.refresh();
  const [actual, expected] = [
    comparableState(project.state),
    comparableState(foldProject(projectMonitor.events)),
  ];
  for (const part of Object.keys(expected)) {
    const [actualPart, expectedPart] = [actual[part], expected[part]];
    if (actualPart === expectedPart) continue;
    world.reportViolation(
      'VIEW',
      `${instance.process.name} and the log differ in ${part} of ${projectMonitor.key.tenant_id}: ${actualPart} / ${expectedPart}`,
    );
  }
}

/** The parts of the state that decisions depend on, as comparable text. */
function comparableState(state: WorkState): Record<string, string> {
  const sortedSets = (index: ReadonlyMap<string, ReadonlySet<string>>): unknown =>
    Object.fromEntries([...index].map(([key, members]) => [key, [...members].sort()]));
  const holders = [...subjectsWithOpenClaim(state)]
    .map((subject) => state.heads.get(subject)?.claim?.agent_id ?? '')
    .sort();
  return {
    position: String(state.position),
    heads: canonicalJson(Object.fromEntries(state.heads)),
    records: canonicalJson(Object.fromEntries(state.records)),
    plan: canonicalJson([...state.plan.tasks()].map(taskInput)),
    openClaims: canonicalJson([...subjectsWithOpenClaim(state)].sort()),
    bySession: canonicalJson(sortedSets(state.bySession)),
    claimsByAgent: canonicalJson(
      Object.fromEntries(holders.map((id) => [id, claimedSubjectsOf(state, id).sort()])),
    ),
    inBackoff: canonicalJson([...state.inBackoff].sort()),
  };
}
