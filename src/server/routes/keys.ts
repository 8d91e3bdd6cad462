import { isProblem } from '../../coordinator/wire/problem.js';
import { authorize } from '../auth/authorize.js';
import { toResponse } from '../response.js';
import { type ApiCall, type Handlers, jsonHandlers } from '../route.js';

/** The tenant's keys and, for a platform credential, the operators' keys. */
const keyScopeOf = ({ tenant, principal }: Pick<ApiCall, 'tenant' | 'principal'>) => ({
  tenant_id: tenant,
  platform: authorize(principal, 'administer', null) === 'allowed',
});

const LOCKED_OUT =
  'The server now requires a key, and the new key cannot create keys. On the host of the server, run gen key create --role operator.';

export const keyHandlers = {
  create_key: async (call) => {
    const { coordinator, principal, body, caller } = call;
    const created = await coordinator.keys.create(keyScopeOf(call), body, caller);
    if (isProblem(created)) return toResponse(created);
    const ownAccess =
      principal.kind === 'open' && authorize({ ...principal, ...created }, 'administer', created.tenant_id);
    const reply = ownAccess === 'forbidden' ? { ...created, next: LOCKED_OUT } : created;
    return { ...toResponse(reply), status: 201 };
  },

  ...jsonHandlers({
    list_keys: (call) => call.coordinator.keys.list(keyScopeOf(call), call.query),
    revoke_key: (call) => call.coordinator.keys.revoke(keyScopeOf(call), call.param('key_id'), call.caller),
  }),
} satisfies Partial<Handlers>;
