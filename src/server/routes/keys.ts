import { z } from 'zod';
import { isProblem } from '../../coordinator/problem.js';
import { type Key, type KeyCreated, keyBody } from '../../coordinator/wire.js';
import { ROLES } from '../../core/roles.js';
import { answer } from '../answer.js';
import { authorize } from '../auth/authorize.js';
import { nextPage, pageQuery } from '../page-query.js';
import { type Ask, param, type Route, route, TENANT } from '../route.js';
import { describe, time } from '../schemas/describe.js';

const KEYS = `${TENANT}/keys`;

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
const key = describe<Key>()('Key', z.object(keyFields));
const keyCreated = describe<KeyCreated>()(
  'KeyCreated',
  z.object({ ...keyFields, token: z.string().nullable(), next: z.string().exactOptional() }),
);

/** The tenant's keys; for whoever may speak for the platform, its operators' too. */
const scopeOf = ({ params, principal }: Pick<Ask, 'params' | 'principal'>) => ({
  tenant_id: param({ params }, 'tenant_id'),
  platform: authorize(principal, 'administer', null) === 'allowed',
});

const LOCKED_OUT =
  'The server is open no more, and this key can make no other. Make one of role operator where the store is.';

export const keyRoutes: readonly Route[] = [
  route({
    id: 'create_key',
    method: 'POST',
    path: KEYS,
    action: 'administer',
    summary: 'Make a key; its token is in this reply and nowhere else',
    body: { kind: 'json', schema: keyBody },
    reply: keyCreated,
    run: async ({ house, params, principal, body, caller }: Ask) => {
      const made = await house.coordinator.keys.create(scopeOf({ params, principal }), body, caller);
      if (isProblem(made)) return answer(made);
      const locked =
        principal.kind === 'open' && authorize({ ...principal, ...made }, 'administer', made.tenant_id);
      const told = locked === 'forbidden' ? { ...made, next: LOCKED_OUT } : made;
      return { ...answer(told), status: 201 };
    },
  }),
  route({
    id: 'list_keys',
    method: 'GET',
    path: KEYS,
    action: 'administer',
    summary: 'The keys of the tenant, without their secrets',
    query: pageQuery,
    reply: z.object({ keys: z.array(key), next: nextPage }),
    run: async ({ house, params, principal, query }) =>
      answer(await house.coordinator.keys.list(scopeOf({ params, principal }), query)),
  }),
  route({
    id: 'revoke_key',
    method: 'DELETE',
    path: `${KEYS}/{key_id}`,
    action: 'administer',
    summary: 'Revoke a key: from now on it opens nothing',
    reply: key,
    run: async ({ house, params, principal, caller }: Ask) =>
      answer(
        await house.coordinator.keys.revoke(
          scopeOf({ params, principal }),
          param({ params }, 'key_id'),
          caller,
        ),
      ),
  }),
];
