import { z } from 'zod';
import { agentIdSchema } from '../ids.js';
import { boundedText, count, mutationFields } from './schema.js';
import { EDGE_STATUSES, SEVERITIES } from './values.js';

const FEATURE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
export const SEMVER =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$/;
export const GAP_KEYS_MAX = 10_000;
export const ARTIFACTS_MAX = 100;

/** One line of text without control characters, because it may be printed or used as a file name. */
export const singleLineText = (max: number) =>
  boundedText(max).regex(/^\P{Cc}*$/u, { error: 'expected no control characters' });
export const featureId = z
  .string()
  .max(100, { abort: true })
  .regex(FEATURE_ID, { error: 'expected a feature id such as REQ-F-AUTH-001' });
export const edgeName = singleLineText(100);
export const reqKey = z
  .string()
  .max(256, { abort: true })
  .regex(/^REQ-[A-Z0-9][A-Z0-9._-]*$/, { error: 'expected a requirement key such as REQ-F-AUTH-001' });
export const boundedCount = count.max(1_000_000_000);
export const contextHash = singleLineText(200);
/** The acting agent. Without `agent_id` the caller's credential identifies it. */
export const actorFields = { agent_id: agentIdSchema.optional(), ...mutationFields };

export const anyText = z.string();
export const severity = z.enum(SEVERITIES);
export const edgeStatus = z.enum(['pending', ...EDGE_STATUSES]);
export const refusedFields = { success: z.literal(false), next: anyText };
export const doneFields = { success: z.literal(true), next: anyText };
