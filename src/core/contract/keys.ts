import { z } from 'zod';
import { agentIdSchema, agentRoleSchema } from '../ids.js';
import { ROLES } from '../roles.js';
import { type ApiOperations, jsonBody, TENANT_PATH } from './operation.js';
import {
  boundedText,
  mutationFields,
  namedObject,
  nextPage,
  pageQuery,
  type ReplyOf,
  time,
  withName,
} from './schema.js';

/** Ten years of 366 days: any ten calendar years, with a few days of slack. */
const KEY_LIFETIME_SECONDS_MAX = 3660 * 24 * 3600;
export const keyBody = z
  .strictObject({
    role: z.enum(ROLES),
    label: boundedText(100).optional(),
    user_id: agentIdSchema.optional(),
    agent_role: agentRoleSchema.optional().describe('the only agent role that the key can act in'),
    expires_in_seconds: z.number().int().min(1).max(KEY_LIFETIME_SECONDS_MAX).optional(),
    expires_at: z.iso.datetime().optional(),
    ...mutationFields,
  })
  .refine((body) => body.expires_in_seconds === undefined || body.expires_at === undefined, {
    path: ['expires_at'],
    message: 'expected expires_in_seconds or expires_at, not both',
  });
export type KeyBody = z.infer<typeof keyBody>;

const keyFields = {
  key_id: z.string(),
  /** Null for an operator's key, which is valid in every tenant. */
  tenant_id: z.string().nullable(),
  role: z.enum(ROLES),
  label: z.string().nullable(),
  user_id: z.string().nullable(),
  /** The agent role that the key is limited to; null: any. */
  agent_role: z.string().nullable(),
  /** `unbound`: the record is not bound to this store, so the key is invalid here. */
  state: z.enum(['active', 'expired', 'revoked', 'unbound']),
  /** The last characters of the token, to recognize it. */
  last_four: z.string(),
  created_at: time,
  created_by: z.string(),
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
};
/** A key without its secret, as its tenant sees it. */
const apiKey = withName('Key', z.object(keyFields));
const createdApiKey = namedObject('KeyCreated', {
  ...keyFields,
  /** Shown only once: null when the request is repeated. */
  token: z.string().nullable(),
  next: z.string().exactOptional(),
});
export type ApiKey = ReplyOf<typeof apiKey>;
export type CreatedApiKey = ReplyOf<typeof createdApiKey>;

const KEYS_PATH = `${TENANT_PATH}/keys` as const;

export const keyOperations = {
  create_key: {
    method: 'POST',
    path: KEYS_PATH,
    action: 'administer',
    summary: 'Create a key; only this reply contains its token',
    body: jsonBody(keyBody),
    reply: createdApiKey,
  },
  list_keys: {
    method: 'GET',
    path: KEYS_PATH,
    action: 'administer',
    summary: 'List the keys of the tenant, without their secrets',
    query: pageQuery,
    reply: z.object({ keys: z.array(apiKey), next: nextPage }),
  },
  revoke_key: {
    method: 'DELETE',
    path: `${KEYS_PATH}/{key_id}`,
    action: 'administer',
    summary: 'Revoke a key; it is invalid at once',
    reply: apiKey,
  },
} as const satisfies ApiOperations;
