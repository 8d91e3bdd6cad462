import { isProblem } from '../../coordinator/wire/problem.js';
import { authorize } from '../auth/authorize.js';
import { toResponse } from '../response.js';
import { type Handlers, pathParam, type RequestContext } from '../route.js';

/** The tenant's keys and, for a platform credential, the operators' keys. */
const keyScopeOf = ({ params, principal }: Pick<RequestContext, 'params' | 'principal'>) => ({
  tenant_id: pathParam({ params }, 'tenant_id'),
  platform: authorize(principal, 'administer', null) === 'allowed',
});

const LOCKED_OUT =
  'The server now requires a key, and this one cannot create keys. On its host, run gen key create --role operator.';

export const keyHandlers = {
  create_key: async ({ context, params, principal, body, caller }) => {
    const created = await context.coordinator.keys.create(keyScopeOf({ params, principal }), body, caller);
    if (isProblem(created)) return toResponse(created);
    const ownAccess =
      principal.kind === 'open' && authorize({ ...principal, ...created }, 'administer', created.tenant_id);
    const reply = ownAccess === 'forbidden' ? { ...created, next: LOCKED_OUT } : created;
    return { ...toResponse(reply), status: 201 };
  },

  list_keys: async ({ context, params, principal, query }) =>
    toResponse(await context.coordinator.keys.list(keyScopeOf({ params, principal }), query)),

  revoke_key: async ({ context, params, principal, caller }) => {
    const keyId = pathParam({ params }, 'key_id');
    return toResponse(
      await context.coordinator.keys.revoke(keyScopeOf({ params, principal }), keyId, caller),
    );
  },
} satisfies Partial<Handlers>;
