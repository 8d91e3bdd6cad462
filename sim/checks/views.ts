import type { Project } from '../../src/coordinator/project.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import { taskInput } from '../../src/core/plan/task.js';
import { foldProject, subjectsOf, type WorkState } from '../../src/core/views/index.js';
import type { Site } from '../fleet/site.js';
import type { World } from '../world/world.js';
import type { ProjectWatch } from './project-watch.js';

/** What a coordinator believes of a project when it has followed to the end is what the log says from the beginning. */
export async function checkViews(world: World, site: Site, watch: ProjectWatch): Promise<void> {
  const { projects } = site.coordinator as unknown as { projects: { get(key: object): Promise<Project> } };
  const project = await projects.get(watch.key);
  await project.follow();
  const [believed, folded] = [plain(project.state), plain(foldProject(watch.events))];
  for (const part of Object.keys(folded)) {
    const [is, should] = [believed[part], folded[part]];
    if (is === should) continue;
    world.violate(
      'VIEW',
      `${site.process.name} has other ${part} of ${watch.key.tenant_id} than the log: ${is} / ${should}`,
    );
  }
}

/** The parts that decisions stand on, as text that can be compared. */
function plain(state: WorkState): Record<string, string> {
  const sets = (index: ReadonlyMap<string, ReadonlySet<string>>): unknown =>
    Object.fromEntries([...index].map(([key, members]) => [key, [...members].sort()]));
  const holders = [...state.live].map((subject) => state.heads.get(subject)?.claim?.agent_id ?? '').sort();
  return {
    position: String(state.position),
    heads: canonicalJson(Object.fromEntries(state.heads)),
    records: canonicalJson(Object.fromEntries(state.records)),
    plan: canonicalJson([...state.plan.tasks()].map(taskInput)),
    live: canonicalJson([...state.live].sort()),
    bySession: canonicalJson(sets(state.bySession)),
    held: canonicalJson(Object.fromEntries(holders.map((id) => [id, subjectsOf(state, id).sort()]))),
    paused: canonicalJson([...state.paused].sort()),
  };
}
