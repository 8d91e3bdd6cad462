import { canTakeOver, isStale } from '../../core/claims/lease.js';
import { isCountedStep, unconvergedSteps } from '../../core/methodology/progress/feature-progress.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { projectProgressOf } from '../../core/methodology/progress/project-progress.js';
import { edgeQueue } from '../../core/methodology/routing/edge-queue.js';
import { METHODOLOGY_SUBJECT, TENANT_PROJECT } from '../../core/subject.js';
import { subjectsWithOpenClaim } from '../../core/views/index.js';
import type { ProjectKey } from '../../stores/store.js';
import { viewInputOf } from '../methodology/view-input.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';

/** The work of a project in numbers. Work is tasks, subtasks and the edges that the features need. */
export interface ProjectCounts {
  readonly key: ProjectKey;
  readonly active_claims: number;
  /**
   * Active claims that are inactive beyond the project's threshold, or suspended beyond their deadline. None where
   * `stale_policy` is takeover: there a claim ends with its lease.
   */
  readonly stale_claims: number;
  /** Work whose dependencies are complete, and which is not claimed or whose claim has lapsed. */
  readonly ready_tasks: number;
  readonly pending_tasks: number;
  readonly completed_tasks: number;
}

type WorkCounts = Pick<ProjectCounts, 'ready_tasks' | 'pending_tasks' | 'completed_tasks'>;
type ReadMethodology = (project: Project) => Promise<MethodologyState>;

/** Counts the work of each loaded project. A project whose events cannot be read now is left out. */
export async function countWorkByProject(
  projects: Projects,
  readMethodology: ReadMethodology,
): Promise<ProjectCounts[]> {
  const counted: ProjectCounts[] = [];
  for (const project of [...projects.listLoaded()]) {
    if (project.key.project_id === TENANT_PROJECT) continue;
    const counts = await countProject(project, readMethodology).catch(() => null);
    if (counts !== null) counted.push(counts);
  }
  return counted;
}

async function countProject(project: Project, readMethodology: ReadMethodology): Promise<ProjectCounts> {
  const edges = await countEdges(project, readMethodology);
  const tasks = await countTasks(project);
  return {
    key: project.key,
    ...countClaims(project),
    ready_tasks: tasks.ready_tasks + edges.ready_tasks,
    pending_tasks: tasks.pending_tasks + edges.pending_tasks,
    completed_tasks: tasks.completed_tasks + edges.completed_tasks,
  };
}

function countClaims(project: Project): Pick<ProjectCounts, 'active_claims' | 'stale_claims'> {
  const view = project.view();
  const live = [...subjectsWithOpenClaim(project.state)].filter((subject) => view.isLive(subject));
  const stale = live.filter((subject) => isStale(view.peekHead(subject), view.now_ms, view.rulesOf(subject)));
  return { active_claims: live.length, stale_claims: stale.length };
}

async function countTasks(project: Project): Promise<WorkCounts> {
  const { plan, heads, frontier } = project.state;
  if (frontier.rebuiltVersion < frontier.currentVersion(plan)) await project.rebuildFrontier();
  const view = project.view();
  let ready = 0;
  for (const subjects of frontier.byTrack.values()) ready += subjects.length;
  // Work whose claim has lapsed can be claimed, although no event records the expiry yet.
  for (const subject of subjectsWithOpenClaim(project.state)) {
    if (plan.has(subject) && canTakeOver(view.peekHead(subject), view.now_ms, view.rulesOf(subject)))
      ready += 1;
  }
  const completed = heads.completedTasks;
  return {
    ready_tasks: ready,
    pending_tasks: Math.max(0, plan.subject_count - completed),
    completed_tasks: completed,
  };
}

/** Counts the edges of all features. An optional edge counts only after it was started. */
async function countEdges(project: Project, readMethodology: ReadMethodology): Promise<WorkCounts> {
  const noEdges = { ready_tasks: 0, pending_tasks: 0, completed_tasks: 0 };
  if (!project.state.records.has(METHODOLOGY_SUBJECT)) return noEdges;
  const state = await readMethodology(project);
  const input = viewInputOf(project.state, state, project.view());
  const features = [...projectProgressOf(input).features.values()];
  const pending = features.reduce((sum, feature) => sum + unconvergedSteps(feature).length, 0);
  const counted = features.reduce((sum, { steps }) => sum + steps.filter(isCountedStep).length, 0);
  return {
    ready_tasks: edgeQueue(input, null).ready.length,
    pending_tasks: pending,
    completed_tasks: counted - pending,
  };
}
