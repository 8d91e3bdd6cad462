import { z } from 'zod';
import { type ApiOperations, json, PROJECT_PATH, read, TENANT_PATH } from './operation.js';
import { count, mutationFields, namedObject } from './schema.js';
import { RESULT_BYTES_MAX } from './values.js';

/** Limits of a tenant and policy of a project. */

const YEAR_SECONDS = 366 * 24 * 3600;
const upTo = (max: number) => z.number().int().min(0).max(max);
const seconds = (max: number) => z.number().int().min(1).max(max);

/** Limits of a tenant, with the names and values of specification 004 §7.2. */
const limits = namedObject('Limits', {
  max_concurrent_claims: count,
  max_lease_duration_seconds: count,
  min_lease_duration_seconds: count,
  max_generations_per_task: count,
  claim_history_retention_days: count,
  max_result_size_bytes: count,
  max_active_sessions: count,
  session_idle_seconds: count,
  /** Every command of a session must be signed with the key that opened the session. */
  require_signatures: z.boolean(),
});
export const limitsBody = z.strictObject({
  max_concurrent_claims: upTo(10_000_000).optional(),
  max_lease_duration_seconds: seconds(YEAR_SECONDS).optional(),
  min_lease_duration_seconds: seconds(YEAR_SECONDS).optional(),
  max_generations_per_task: upTo(1_000_000_000).optional(),
  claim_history_retention_days: upTo(36_500).optional(),
  max_result_size_bytes: upTo(RESULT_BYTES_MAX).optional(),
  max_active_sessions: upTo(1_000_000).optional(),
  session_idle_seconds: seconds(YEAR_SECONDS).optional(),
  require_signatures: z.boolean().optional(),
  ...mutationFields,
});

const stalePolicy = z.enum(['takeover', 'hold']);
const lateSubmit = z.enum(['accept', 'reject']);
const taskProposals = z.enum(['review', 'allow']);
const complianceProfile = z.enum(['hipaa', 'soc2', 'pci']).nullable();
/** Policy of a project. */
const policy = namedObject('Policy', {
  /** What an expired lease means, per kind of subject: anybody may take over, or the claim stays held. */
  stale_policy: z.object({ task: stalePolicy, edge: stalePolicy }),
  /** Whether a result after expiry is accepted as late or refused, if nobody has taken over. */
  late_submit: lateSubmit,
  /** Maximum duration of a claim, including renewals; after that, anybody may take over. */
  max_hold_seconds: z.number().nullable(),
  /** Under `hold`: inactivity after which a claim is reported stale. */
  stale_threshold_seconds: count,
  /** Lease of an edge claim that does not ask for one. */
  claim_ttl_seconds: count,
  sweep_interval_seconds: count,
  /** Maximum time for which a human gate stays open. */
  suspend_max_seconds: count,
  /** Consecutive generations that may end in error or expiry before a human must act. */
  max_attempts: count,
  /** Maximum number of agents working in one track; null: unlimited. */
  max_agents_per_track: count.nullable(),
  /** Whether tasks that an agent adds wait for a human's yes. */
  task_proposals: taskProposals,
  compliance_profile: complianceProfile,
});
export const policyBody = z.strictObject({
  stale_policy: z
    .union([stalePolicy, z.strictObject({ task: stalePolicy.optional(), edge: stalePolicy.optional() })])
    .optional(),
  late_submit: lateSubmit.optional(),
  max_hold_seconds: seconds(YEAR_SECONDS).nullable().optional(),
  stale_threshold_seconds: seconds(YEAR_SECONDS).optional(),
  claim_ttl_seconds: seconds(YEAR_SECONDS).optional(),
  sweep_interval_seconds: seconds(24 * 3600).optional(),
  suspend_max_seconds: seconds(YEAR_SECONDS).optional(),
  max_attempts: z.number().int().min(1).max(1000).optional(),
  max_agents_per_track: z.number().int().min(1).max(10_000).nullable().optional(),
  task_proposals: taskProposals.optional(),
  compliance_profile: complianceProfile.optional(),
  ...mutationFields,
});

export type Limits = z.output<typeof limits>;
export type LimitsBody = z.infer<typeof limitsBody>;
export type StalePolicy = z.output<typeof stalePolicy>;
export type Policy = z.output<typeof policy>;
export type PolicyBody = z.infer<typeof policyBody>;

const LIMITS_PATH = `${TENANT_PATH}/limits` as const;
const POLICY_PATH = `${PROJECT_PATH}/policy` as const;

export const settingsOperations = {
  get_limits: read(LIMITS_PATH, 'Get the limits of the tenant', { reply: limits }),
  put_limits: {
    method: 'PUT',
    path: LIMITS_PATH,
    action: 'administer',
    summary: 'Change limits of the tenant; omitted fields keep their values',
    body: json(limitsBody),
    reply: limits,
  },
  get_policy: read(POLICY_PATH, 'Get the policy of the project', { reply: policy }),
  put_policy: {
    method: 'PUT',
    path: POLICY_PATH,
    action: 'administer',
    summary: 'Change the policy of the project; omitted fields keep their values',
    body: json(policyBody),
    reply: policy,
  },
} as const satisfies ApiOperations;
