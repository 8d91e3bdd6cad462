import { z } from 'zod';
import type { SessionRecord, SessionResult } from '../../coordinator/operations/session.js';
import type { ProjectEntry } from '../../coordinator/queries/queries.js';
import type { Limits, Policy } from '../../core/claims/policy.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { type AgentView, type ProjectStatus, READINESS, type SessionMemory } from '../../core/views/index.js';
import { count, jsonRecord, registerSchema, time } from './common.js';
import { taskClaim } from './work.js';

/** Replies about sessions, settings and project status. */

export const sessionRecord = registerSchema<SessionRecord>()(
  'SessionRecord',
  z.object({
    session_id: z.string(),
    tenant_id: z.string(),
    project_id: z.string(),
    user_id: z.string().nullable(),
    state: z.enum(['open', 'closed']),
    created_at: time,
    closed_at: time.exactOptional(),
    public_key: z.string().exactOptional(),
  }),
);
export const sessionResult = registerSchema<SessionResult>()(
  'SessionResult',
  z.object({
    success: z.boolean(),
    reason: z.string().describe('OPENED, CLOSED, SESSION_CLOSED, PUBLIC_KEY_CONFLICT, DENIED_LIMIT'),
    session: sessionRecord.nullable(),
    limit: z.string().exactOptional(),
    next: z.string().exactOptional(),
  }),
);

const progress = z.object({ completed: count, in_progress: count, pending: count });
const taskFields = {
  task_id: z.string(),
  track: z.string().nullable(),
  sequence: z.number().int().nullable(),
};

export const sessionMemory = registerSchema<SessionMemory>()(
  'SessionMemory',
  z.object({
    session_id: z.string(),
    tenant_id: z.string().nullable(),
    project_id: z.string().nullable(),
    user_id: z.string().nullable(),
    created_at: time.nullable(),
    last_activity: time.nullable(),
    task_log: z.array(
      z.object({
        ...taskFields,
        timestamp: time,
        event: z.string(),
        generation: count.nullable(),
        agent_id: z.string(),
        outcome: z.enum(['ACCEPTED', 'REJECTED']).nullable(),
        work_product_ref: z.string().nullable(),
        details: jsonRecord,
      }),
    ),
    active_claims: z.array(
      z.object({
        project_id: z.string(),
        task_id: z.string(),
        generation: count,
        expires_at: time.nullable(),
      }),
    ),
    completed_tasks: z.array(z.string()),
    track_assignments: z.record(z.string(), z.string()),
    track_progress: z.record(z.string(), progress),
    omitted: z
      .object({ task_log: count, active_claims: count, completed_tasks: count })
      .exactOptional()
      .describe('how many older items each list would have, where some are left out'),
  }),
);

export const projectStatus = registerSchema<ProjectStatus>()(
  'ProjectStatus',
  z.object({
    tenant_id: z.string(),
    project_id: z.string(),
    position: count,
    last_updated: time.nullable(),
    tracks: z.record(z.string(), progress),
    total: progress,
    counts: z.record(z.enum(READINESS), count),
    claims: z.array(taskClaim),
    waiting: z.array(
      z.object({
        task_id: z.string(),
        readiness: z.enum(READINESS),
        waits_for: z.string(),
        reason: z.string(),
      }),
    ),
    parked: z.array(z.object({ task_id: z.string(), parked: count })),
  }),
);
export const projectEntry = registerSchema<ProjectEntry>()(
  'ProjectEntry',
  z.object({ project_id: z.string(), position: count, last_updated: time.nullable() }),
);
export const agentView = registerSchema<AgentView>()(
  'AgentView',
  z.object({
    agent_id: z.string(),
    role: z.string().nullable(),
    sessions: z.array(z.string()),
    claims: z.array(z.string()),
    completed: count,
    rejected: count,
    denied: count,
    last_activity: time,
  }),
);

export const limits = registerSchema<Limits>()(
  'Limits',
  z.object({
    max_concurrent_claims: count,
    max_lease_duration_seconds: count,
    min_lease_duration_seconds: count,
    max_generations_per_task: count,
    claim_history_retention_days: count,
    max_result_size_bytes: count,
    max_active_sessions: count,
    session_idle_seconds: count,
    require_signatures: z.boolean(),
  }),
);
const stalePolicy = z.enum(['takeover', 'hold']);
export const policy = registerSchema<Policy>()(
  'Policy',
  z.object({
    stale_policy: z.object({ task: stalePolicy, edge: stalePolicy }),
    late_submit: z.enum(['accept', 'reject']),
    max_hold_seconds: z.number().nullable(),
    stale_threshold_seconds: count,
    claim_ttl_seconds: count,
    sweep_interval_seconds: count,
    suspend_max_seconds: count,
    max_attempts: count,
    max_agents_per_track: count.nullable(),
    compliance_profile: z.enum(['hipaa', 'soc2', 'pci']).nullable(),
  }),
);

export const event = registerSchema<EventEnvelope>()(
  'Event',
  z.object({
    event_id: z.string(),
    event_type: z.string(),
    timestamp: time,
    tenant_id: z.string(),
    project_id: z.string(),
    position: z.number().int().min(1),
    subject: z.string().exactOptional(),
    seq: z.number().int().exactOptional(),
    task_id: z.string().exactOptional(),
    feature_id: z.string().exactOptional(),
    edge: z.string().exactOptional(),
    agent_id: z.string(),
    agent_role: z.string().exactOptional(),
    session_id: z.string().exactOptional(),
    generation: count.exactOptional(),
    request_id: z.string().exactOptional(),
    payload: jsonRecord,
  }),
);
