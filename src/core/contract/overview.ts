import { z } from 'zod';
import { projectFields, taskClaim } from './claim-records.js';
import { type ApiOperations, PROJECT_PATH, readOperation, TENANT_PATH } from './operation.js';
import {
  atField,
  atQuery,
  count,
  namedObject,
  nextPage,
  pageQuery,
  positionFields,
  type ReplyOf,
  time,
} from './schema.js';
import { progressCounts } from './sessions.js';
import { READINESS } from './values.js';

/** The overview of a project, and the list of projects. */

/** A subject that agents alone cannot advance, why, and who must act. */
const waitingSubject = z.object({
  task_id: z.string(),
  readiness: z.enum(READINESS),
  waits_for: z.string(),
  reason: z.string(),
});
const projectStatus = namedObject('ProjectStatus', {
  ...projectFields,
  ...positionFields,
  tracks: z.record(z.string(), progressCounts),
  total: progressCounts,
  counts: z.record(z.enum(READINESS), count),
  claims: z.array(taskClaim),
  waiting: z.array(waitingSubject),
  parked: z.array(z.object({ task_id: z.string(), parked: count })),
});
const projectEntry = namedObject('ProjectEntry', { project_id: z.string(), ...positionFields });
const agentView = namedObject('AgentView', {
  agent_id: z.string(),
  role: z.string().nullable(),
  sessions: z.array(z.string()),
  /** Subjects on which the agent has an ACTIVE or SUSPENDED claim. */
  claims: z.array(z.string()),
  completed: count,
  rejected: count,
  denied: count,
  last_activity: time,
});

export type WaitingSubject = ReplyOf<typeof waitingSubject>;
export type ProjectStatus = ReplyOf<typeof projectStatus>;
export type ProjectEntry = ReplyOf<typeof projectEntry>;
export type AgentView = ReplyOf<typeof agentView>;

const expiredClaimsQuery = pageQuery.extend({
  ...atField,
  before: z.iso.datetime({ offset: true }).exactOptional(),
});
export type ExpiredClaimsQuery = z.output<typeof expiredClaimsQuery>;

export const overviewOperations = {
  status: readOperation(`${PROJECT_PATH}/status`, 'Get the status of the project, now or at a log position', {
    query: atQuery,
    reply: projectStatus,
  }),
  agents: readOperation(
    `${PROJECT_PATH}/agents`,
    'List the agents of the project, now or at a log position, paginated',
    {
      query: pageQuery.extend(atField),
      reply: z.object({ agents: z.array(agentView), next: nextPage, ...positionFields }),
    },
  ),
  list_expired_claims: readOperation(
    `${PROJECT_PATH}/claims/expired`,
    'List claims that had expired at a time, by default now, and whose work was not claimed again, paginated',
    {
      query: expiredClaimsQuery,
      reply: z.object({ claims: z.array(taskClaim), next: nextPage, ...positionFields }),
    },
  ),
  list_projects: readOperation(`${TENANT_PATH}/projects`, 'List the projects of the tenant, paginated', {
    query: pageQuery,
    reply: z.object({ projects: z.array(projectEntry), next: nextPage }),
  }),
} as const satisfies ApiOperations;
