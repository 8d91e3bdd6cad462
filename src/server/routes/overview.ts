import { jsonHandlers } from '../route.js';

/** Sessions, settings and views of a tenant or a project. */
export const overviewHandlers = jsonHandlers({
  open_session: ({ coordinator, tenant, body, caller }) => coordinator.sessions.open(tenant, body, caller),
  list_sessions: ({ coordinator, tenant, query }) => coordinator.sessions.list(tenant, query),
  get_session: (call) => call.coordinator.sessions.get(call.tenant, call.param('session_id'), call.query),
  close_session: (call) =>
    call.coordinator.sessions.close(call.tenant, call.param('session_id'), call.caller),
  get_active_claims_for_session: (call) =>
    call.coordinator.sessions.claimsOf(call.tenant, call.param('session_id'), call.query),

  get_limits: ({ coordinator, tenant }) => coordinator.settings.getLimits(tenant),
  put_limits: ({ coordinator, tenant, body, caller }) => coordinator.settings.putLimits(tenant, body, caller),
  get_policy: ({ coordinator, project }) => coordinator.settings.getPolicy(project),
  put_policy: ({ coordinator, project, body, caller }) =>
    coordinator.settings.putPolicy(project, body, caller),

  status: ({ coordinator, project, query }) => coordinator.queries.status(project, query.at),
  agents: ({ coordinator, project, query }) => coordinator.queries.agents(project, query.at, query),
  list_expired_claims: ({ coordinator, project, query }) => coordinator.queries.expiredClaims(project, query),
  list_projects: ({ coordinator, tenant, query }) => coordinator.queries.listProjects(tenant, query),
});
