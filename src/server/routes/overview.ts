import { z } from 'zod';
import { limitsBody, policyBody, sessionBody } from '../../coordinator/wire/index.js';
import { latestQuery, nextPage, pageQuery } from '../page-query.js';
import { toResponse } from '../response.js';
import {
  defineRoute,
  PROJECT_PATH,
  pathParam,
  projectKeyOf,
  type RequestContext,
  type Route,
  TENANT_PATH,
} from '../route.js';
import { count, time } from '../schemas/common.js';
import {
  agentView,
  limits,
  policy,
  projectEntry,
  projectStatus,
  sessionMemory,
  sessionRecord,
  sessionResult,
} from '../schemas/overview.js';
import { taskClaim } from '../schemas/work.js';

const SESSION_PATH = `${TENANT_PATH}/sessions/{session_id}`;
const tenantOf = (request: Pick<RequestContext, 'params'>): string => pathParam(request, 'tenant_id');
const sessionOf = (request: Pick<RequestContext, 'params'>): string => pathParam(request, 'session_id');
const atField = {
  at: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).exactOptional(),
};
const atQuery = z.strictObject(atField);

const sessionRoutes: readonly Route[] = [
  defineRoute({
    id: 'open_session',
    method: 'POST',
    path: `${TENANT_PATH}/sessions`,
    action: 'work',
    summary: 'Open a session; the first claim does it too',
    body: { kind: 'json', schema: sessionBody },
    reply: sessionResult,
    isRefusable: true,
    run: async ({ context, params, body, caller }: RequestContext) =>
      toResponse(await context.coordinator.sessions.open(tenantOf({ params }), body, caller)),
  }),
  defineRoute({
    id: 'list_sessions',
    method: 'GET',
    path: `${TENANT_PATH}/sessions`,
    action: 'read',
    summary: 'The sessions of the tenant, a page at a time',
    query: pageQuery,
    reply: z.object({ sessions: z.array(sessionRecord), next: nextPage }),
    run: async ({ context, params, query }) =>
      toResponse(await context.coordinator.sessions.list(tenantOf({ params }), query)),
  }),
  defineRoute({
    id: 'get_session',
    method: 'GET',
    path: SESSION_PATH,
    action: 'read',
    summary: 'What a session did and what happened to it; of each list the latest items',
    query: latestQuery,
    reply: sessionMemory,
    run: async ({ context, params, query }) =>
      toResponse(await context.coordinator.sessions.get(tenantOf({ params }), sessionOf({ params }), query)),
  }),
  defineRoute({
    id: 'close_session',
    method: 'DELETE',
    path: SESSION_PATH,
    action: 'work',
    summary: 'Close a session and release its claims',
    reply: sessionResult,
    isRefusable: true,
    run: async ({ context, params, caller }: RequestContext) =>
      toResponse(
        await context.coordinator.sessions.close(tenantOf({ params }), sessionOf({ params }), caller),
      ),
  }),
  defineRoute({
    id: 'get_active_claims_for_session',
    method: 'GET',
    path: `${SESSION_PATH}/claims`,
    action: 'read',
    summary: 'What a session holds now, a page at a time',
    query: pageQuery,
    reply: z.object({ claims: z.array(taskClaim), next: nextPage }),
    run: async ({ context, params, query }) => {
      const { sessions } = context.coordinator;
      return toResponse(await sessions.claimsOf(tenantOf({ params }), sessionOf({ params }), query));
    },
  }),
];

const settingsRoutes: readonly Route[] = [
  defineRoute({
    id: 'get_limits',
    method: 'GET',
    path: `${TENANT_PATH}/limits`,
    action: 'read',
    summary: 'What the tenant may do',
    reply: limits,
    run: async ({ context, params }: RequestContext) =>
      toResponse(await context.coordinator.settings.getLimits(tenantOf({ params }))),
  }),
  defineRoute({
    id: 'put_limits',
    method: 'PUT',
    path: `${TENANT_PATH}/limits`,
    action: 'administer',
    summary: 'Change limits of the tenant; those left out stay',
    body: { kind: 'json', schema: limitsBody },
    reply: limits,
    run: async ({ context, params, body, caller }: RequestContext) =>
      toResponse(await context.coordinator.settings.putLimits(tenantOf({ params }), body, caller)),
  }),
  defineRoute({
    id: 'get_policy',
    method: 'GET',
    path: `${PROJECT_PATH}/policy`,
    action: 'read',
    summary: 'The policy of the project',
    reply: policy,
    run: async ({ context, params }: RequestContext) =>
      toResponse(await context.coordinator.settings.getPolicy(projectKeyOf({ params }))),
  }),
  defineRoute({
    id: 'put_policy',
    method: 'PUT',
    path: `${PROJECT_PATH}/policy`,
    action: 'administer',
    summary: 'Change the policy of the project; what is left out stays',
    body: { kind: 'json', schema: policyBody },
    reply: policy,
    run: async ({ context, params, body, caller }: RequestContext) =>
      toResponse(await context.coordinator.settings.putPolicy(projectKeyOf({ params }), body, caller)),
  }),
];

const viewRoutes: readonly Route[] = [
  defineRoute({
    id: 'status',
    method: 'GET',
    path: `${PROJECT_PATH}/status`,
    action: 'read',
    summary: 'How the project stands, now or at a position of its log',
    query: atQuery,
    reply: projectStatus,
    run: async ({ context, params, query }) =>
      toResponse(await context.coordinator.queries.status(projectKeyOf({ params }), query.at)),
  }),
  defineRoute({
    id: 'agents',
    method: 'GET',
    path: `${PROJECT_PATH}/agents`,
    action: 'read',
    summary: 'Who works here, now or at a position of the log, a page at a time',
    query: pageQuery.extend(atField),
    reply: z.object({
      agents: z.array(agentView),
      next: nextPage,
      position: count,
      last_updated: time.nullable(),
    }),
    run: async ({ context, params, query }) =>
      toResponse(await context.coordinator.queries.agents(projectKeyOf({ params }), query.at, query)),
  }),
  defineRoute({
    id: 'list_projects',
    method: 'GET',
    path: `${TENANT_PATH}/projects`,
    action: 'read',
    summary: 'The projects of the tenant, a page at a time',
    query: pageQuery,
    reply: z.object({ projects: z.array(projectEntry), next: nextPage }),
    run: async ({ context, params, query }) =>
      toResponse(await context.coordinator.queries.listProjects(tenantOf({ params }), query)),
  }),
];

export const overviewRoutes: readonly Route[] = [...sessionRoutes, ...settingsRoutes, ...viewRoutes];
