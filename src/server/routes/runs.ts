import { type Handlers, jsonHandlers } from '../route.js';
import { projectCommand } from './methodology.js';

/** Runs of the iterate engine. */
export const runHandlers = jsonHandlers({
  iterate: projectCommand(({ runs }, projectKey, body, caller) => runs.request(projectKey, body, caller)),
  list_runs: ({ coordinator, tenant, query: { project_id, ...query } }) =>
    coordinator.runs.list({ tenant_id: tenant, project_id }, query),
  runs_spent: ({ coordinator, tenant, query: { project_id, ...query } }) =>
    coordinator.runs.spent({ tenant_id: tenant, project_id }, query),
  get_run: (call) => {
    const { project_id } = call.query;
    return call.coordinator.runs.show({ tenant_id: call.tenant, project_id }, call.param('run_id'));
  },
  cancel_run: (call) =>
    projectCommand(({ runs }, projectKey, body, caller) =>
      runs.cancel(projectKey, call.param('run_id'), body, caller),
    )(call),
}) satisfies Partial<Handlers>;
