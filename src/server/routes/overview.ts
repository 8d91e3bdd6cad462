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
  get_policy: ({ coordinator, projectKey }) => coordinator.settings.getPolicy(projectKey),
  put_policy: ({ coordinator, projectKey, body, caller }) =>
    coordinator.settings.putPolicy(projectKey, body, caller),

  status: ({ coordinator, projectKey, query }) => coordinator.queries.status(projectKey, query.at),
  agents: ({ coordinator, projectKey, query }) => coordinator.queries.agents(projectKey, query.at, query),
  list_expired_claims: ({ coordinator, projectKey, query }) =>
    coordinator.queries.expiredClaims(projectKey, query),
  list_projects: ({ coordinator, tenant, query }) => coordinator.queries.listProjects(tenant, query),
});
