import { addTasks, type PlanInput, readPlan, renderPlan } from '../../core/plan/index.js';
import type { ProjectKey } from '../../stores/store.js';
import { OPEN_CALLER } from '../caller.js';
import { sha256Hex } from '../identity.js';
import { PlanOperation, type PlanResult, versionOf } from '../operations/plan.js';
import type { Reply } from '../problem.js';
import type { Projects } from '../projects.js';

type Change = ConstructorParameters<typeof PlanOperation>[0];

/** What is to be done: the plan of a project, and the tasks that join it while it runs. */
export class Plans {
  constructor(private readonly projects: Projects) {}

  get(scope: ProjectKey): Reply<{ version: number; plan: PlanInput }> {
    return this.projects.in(scope, async (project) => ({
      version: versionOf(project.desk()),
      plan: renderPlan(project.state.plan, scope.project_id),
    }));
  }

  put(
    scope: ProjectKey,
    plan: unknown,
    options: { if_match?: number; request_id?: string } = {},
    caller = OPEN_CALLER,
  ): Reply<PlanResult> {
    const { if_match = null, request_id } = options;
    const source = typeof plan === 'string' ? { yaml: plan } : { json: plan };
    const change: Change = {
      verb: 'put_plan',
      propose: (current, standing) => readPlan(source, current, standing),
      if_match,
      request_id,
      body: typeof plan === 'string' ? sha256Hex(plan) : plan,
    };
    return this.projects.in(scope, (project) => project.run(new PlanOperation(change, caller)));
  }

  add(
    scope: ProjectKey,
    tasks: unknown,
    options: { request_id?: string } = {},
    caller = OPEN_CALLER,
  ): Reply<PlanResult> {
    const change: Change = {
      verb: 'add_tasks',
      propose: (current, standing) => addTasks(current, tasks, standing),
      if_match: null,
      request_id: options.request_id,
      body: tasks,
    };
    return this.projects.in(scope, (project) => project.run(new PlanOperation(change, caller)));
  }
}
