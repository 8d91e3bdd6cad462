import { toResponse } from '../response.js';
import { type Handlers, pathParam, projectKeyOf, type RequestContext } from '../route.js';

const tenantOf = (request: Pick<RequestContext, 'params'>): string => pathParam(request, 'tenant_id');
const sessionOf = (request: Pick<RequestContext, 'params'>): string => pathParam(request, 'session_id');

/** Sessions, settings and views of a tenant or a project. */
export const overviewHandlers = {
  open_session: async ({ context, params, body, caller }) =>
    toResponse(await context.coordinator.sessions.open(tenantOf({ params }), body, caller)),
  list_sessions: async ({ context, params, query }) =>
    toResponse(await context.coordinator.sessions.list(tenantOf({ params }), query)),
  get_session: async ({ context, params, query }) =>
    toResponse(await context.coordinator.sessions.get(tenantOf({ params }), sessionOf({ params }), query)),
  close_session: async ({ context, params, caller }) =>
    toResponse(await context.coordinator.sessions.close(tenantOf({ params }), sessionOf({ params }), caller)),
  get_active_claims_for_session: async ({ context, params, query }) => {
    const { sessions } = context.coordinator;
    return toResponse(await sessions.claimsOf(tenantOf({ params }), sessionOf({ params }), query));
  },

  get_limits: async ({ context, params }) =>
    toResponse(await context.coordinator.settings.getLimits(tenantOf({ params }))),
  put_limits: async ({ context, params, body, caller }) =>
    toResponse(await context.coordinator.settings.putLimits(tenantOf({ params }), body, caller)),
  get_policy: async ({ context, params }) =>
    toResponse(await context.coordinator.settings.getPolicy(projectKeyOf({ params }))),
  put_policy: async ({ context, params, body, caller }) =>
    toResponse(await context.coordinator.settings.putPolicy(projectKeyOf({ params }), body, caller)),

  status: async ({ context, params, query }) =>
    toResponse(await context.coordinator.queries.status(projectKeyOf({ params }), query.at)),
  agents: async ({ context, params, query }) =>
    toResponse(await context.coordinator.queries.agents(projectKeyOf({ params }), query.at, query)),
  list_projects: async ({ context, params, query }) =>
    toResponse(await context.coordinator.queries.listProjects(tenantOf({ params }), query)),
} satisfies Partial<Handlers>;
