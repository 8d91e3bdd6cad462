import { z } from 'zod';
import { type ApiKey, type CreatedApiKey, keyBody } from '../../coordinator/wire/index.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import { ROLES } from '../../core/roles.js';
import { authorize } from '../auth/authorize.js';
import { nextPage, pageQuery } from '../page-query.js';
import { toResponse } from '../response.js';
import { defineRoute, pathParam, type RequestContext, type Route, TENANT_PATH } from '../route.js';
import { registerSchema, time } from '../schemas/common.js';

const KEYS_PATH = `${TENANT_PATH}/keys`;

const keyFields = {
  key_id: z.string(),
  tenant_id: z.string().nullable(),
  role: z.enum(ROLES),
  label: z.string().nullable(),
  user_id: z.string().nullable(),
  state: z.enum(['active', 'expired', 'revoked', 'unbound']),
  last_four: z.string(),
  created_at: time,
  created_by: z.string(),
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
};
const keySchema = registerSchema<ApiKey>()('Key', z.object(keyFields));
const keyCreatedSchema = registerSchema<CreatedApiKey>()(
  'KeyCreated',
  z.object({ ...keyFields, token: z.string().nullable(), next: z.string().exactOptional() }),
);

/** The tenant's keys and, for a platform credential, the operators' keys. */
const keyScopeOf = ({ params, principal }: Pick<RequestContext, 'params' | 'principal'>) => ({
  tenant_id: pathParam({ params }, 'tenant_id'),
  platform: authorize(principal, 'administer', null) === 'allowed',
});

const LOCKED_OUT =
  'The server is open no more, and this key can make no other. Make one of role operator where the store is.';

export const keyRoutes: readonly Route[] = [
  defineRoute({
    id: 'create_key',
    method: 'POST',
    path: KEYS_PATH,
    action: 'administer',
    summary: 'Make a key; its token is in this reply and nowhere else',
    body: { kind: 'json', schema: keyBody },
    reply: keyCreatedSchema,
    run: async ({ context, params, principal, body, caller }: RequestContext) => {
      const created = await context.coordinator.keys.create(keyScopeOf({ params, principal }), body, caller);
      if (isProblem(created)) return toResponse(created);
      const ownAccess =
        principal.kind === 'open' && authorize({ ...principal, ...created }, 'administer', created.tenant_id);
      const reply = ownAccess === 'forbidden' ? { ...created, next: LOCKED_OUT } : created;
      return { ...toResponse(reply), status: 201 };
    },
  }),
  defineRoute({
    id: 'list_keys',
    method: 'GET',
    path: KEYS_PATH,
    action: 'administer',
    summary: 'The keys of the tenant, without their secrets',
    query: pageQuery,
    reply: z.object({ keys: z.array(keySchema), next: nextPage }),
    run: async ({ context, params, principal, query }) =>
      toResponse(await context.coordinator.keys.list(keyScopeOf({ params, principal }), query)),
  }),
  defineRoute({
    id: 'revoke_key',
    method: 'DELETE',
    path: `${KEYS_PATH}/{key_id}`,
    action: 'administer',
    summary: 'Revoke a key: from now on it opens nothing',
    reply: keySchema,
    run: async ({ context, params, principal, caller }: RequestContext) =>
      toResponse(
        await context.coordinator.keys.revoke(
          keyScopeOf({ params, principal }),
          pathParam({ params }, 'key_id'),
          caller,
        ),
      ),
  }),
];
