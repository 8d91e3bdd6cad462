import { z } from 'zod';
import { limitsBody, policyBody, sessionBody } from '../../coordinator/wire.js';
import { answer } from '../answer.js';
import { latestQuery, nextPage, pageQuery } from '../page-query.js';
import { type Ask, PROJECT, param, type Route, route, scopeOf, TENANT } from '../route.js';
import { count, time } from '../schemas/describe.js';
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

const SESSION = `${TENANT}/sessions/{session_id}`;
const tenantOf = (ask: Pick<Ask, 'params'>): string => param(ask, 'tenant_id');
const sessionOf = (ask: Pick<Ask, 'params'>): string => param(ask, 'session_id');
const moment = {
  at: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).exactOptional(),
};
const atQuery = z.strictObject(moment);

const sessionRoutes: readonly Route[] = [
  route({
    id: 'open_session',
    method: 'POST',
    path: `${TENANT}/sessions`,
    action: 'work',
    summary: 'Open a session; the first claim does it too',
    body: { kind: 'json', schema: sessionBody },
    reply: sessionResult,
    decides: true,
    run: async ({ house, params, body, caller }: Ask) =>
      answer(await house.coordinator.sessions.open(tenantOf({ params }), body, caller)),
  }),
  route({
    id: 'list_sessions',
    method: 'GET',
    path: `${TENANT}/sessions`,
    action: 'read',
    summary: 'The sessions of the tenant, a page at a time',
    query: pageQuery,
    reply: z.object({ sessions: z.array(sessionRecord), next: nextPage }),
    run: async ({ house, params, query }) =>
      answer(await house.coordinator.sessions.list(tenantOf({ params }), query)),
  }),
  route({
    id: 'get_session',
    method: 'GET',
    path: SESSION,
    action: 'read',
    summary: 'What a session did and what happened to it; of each list the latest items',
    query: latestQuery,
    reply: sessionMemory,
    run: async ({ house, params, query }) =>
      answer(await house.coordinator.sessions.get(tenantOf({ params }), sessionOf({ params }), query)),
  }),
  route({
    id: 'close_session',
    method: 'DELETE',
    path: SESSION,
    action: 'work',
    summary: 'Close a session and release its claims',
    reply: sessionResult,
    decides: true,
    run: async ({ house, params, caller }: Ask) =>
      answer(await house.coordinator.sessions.close(tenantOf({ params }), sessionOf({ params }), caller)),
  }),
  route({
    id: 'get_active_claims_for_session',
    method: 'GET',
    path: `${SESSION}/claims`,
    action: 'read',
    summary: 'What a session holds now, a page at a time',
    query: pageQuery,
    reply: z.object({ claims: z.array(taskClaim), next: nextPage }),
    run: async ({ house, params, query }) => {
      const { sessions } = house.coordinator;
      return answer(await sessions.claimsOf(tenantOf({ params }), sessionOf({ params }), query));
    },
  }),
];

const settingsRoutes: readonly Route[] = [
  route({
    id: 'get_limits',
    method: 'GET',
    path: `${TENANT}/limits`,
    action: 'read',
    summary: 'What the tenant may do',
    reply: limits,
    run: async ({ house, params }: Ask) =>
      answer(await house.coordinator.settings.getLimits(tenantOf({ params }))),
  }),
  route({
    id: 'put_limits',
    method: 'PUT',
    path: `${TENANT}/limits`,
    action: 'administer',
    summary: 'Change limits of the tenant; those left out stay',
    body: { kind: 'json', schema: limitsBody },
    reply: limits,
    run: async ({ house, params, body, caller }: Ask) =>
      answer(await house.coordinator.settings.putLimits(tenantOf({ params }), body, caller)),
  }),
  route({
    id: 'get_policy',
    method: 'GET',
    path: `${PROJECT}/policy`,
    action: 'read',
    summary: 'The policy of the project',
    reply: policy,
    run: async ({ house, params }: Ask) =>
      answer(await house.coordinator.settings.getPolicy(scopeOf({ params }))),
  }),
  route({
    id: 'put_policy',
    method: 'PUT',
    path: `${PROJECT}/policy`,
    action: 'administer',
    summary: 'Change the policy of the project; what is left out stays',
    body: { kind: 'json', schema: policyBody },
    reply: policy,
    run: async ({ house, params, body, caller }: Ask) =>
      answer(await house.coordinator.settings.putPolicy(scopeOf({ params }), body, caller)),
  }),
];

const viewRoutes: readonly Route[] = [
  route({
    id: 'status',
    method: 'GET',
    path: `${PROJECT}/status`,
    action: 'read',
    summary: 'How the project stands, now or at a position of its log',
    query: atQuery,
    reply: projectStatus,
    run: async ({ house, params, query }) =>
      answer(await house.coordinator.queries.status(scopeOf({ params }), query.at)),
  }),
  route({
    id: 'agents',
    method: 'GET',
    path: `${PROJECT}/agents`,
    action: 'read',
    summary: 'Who works here, now or at a position of the log, a page at a time',
    query: pageQuery.extend(moment),
    reply: z.object({
      agents: z.array(agentView),
      next: nextPage,
      position: count,
      last_updated: time.nullable(),
    }),
    run: async ({ house, params, query }) =>
      answer(await house.coordinator.queries.agents(scopeOf({ params }), query.at, query)),
  }),
  route({
    id: 'list_projects',
    method: 'GET',
    path: `${TENANT}/projects`,
    action: 'read',
    summary: 'The projects of the tenant, a page at a time',
    query: pageQuery,
    reply: z.object({ projects: z.array(projectEntry), next: nextPage }),
    run: async ({ house, params, query }) =>
      answer(await house.coordinator.queries.listProjects(tenantOf({ params }), query)),
  }),
];

export const overviewRoutes: readonly Route[] = [...sessionRoutes, ...settingsRoutes, ...viewRoutes];
