import { z } from 'zod';
import { CLAIM_STATES } from '../claims/head.js';
import { count, jsonRecord, namedObject, type ReplyOf, time, withName } from './schema.js';

/** Claims as replies show them. */

export const taskFields = {
  task_id: z.string(),
  track: z.string().nullable(),
  sequence: z.number().int().nullable(),
};
export const projectFields = { tenant_id: z.string(), project_id: z.string() };
const claimFields = {
  ...projectFields,
  ...taskFields,
  agent_id: z.string(),
  session_id: z.string(),
  generation: count,
  state: z.enum(CLAIM_STATES),
  claimed_at: time,
  lease_duration_seconds: z.number().nullable(),
  expires_at: time.nullable(),
  work_product_ref: z.string().nullable(),
  metadata: jsonRecord,
};

/** The last claim of a subject, without its claim id: only the holder gets that. */
export const taskClaim = withName('TaskClaim', z.object(claimFields));
/** A claim as its holder sees it. */
export const grantedClaim = namedObject('GrantedClaim', {
  id: z.string().describe('claim id, returned only to the holder'),
  ...claimFields,
});

export type TaskClaim = ReplyOf<typeof taskClaim>;
export type GrantedClaim = ReplyOf<typeof grantedClaim>;
