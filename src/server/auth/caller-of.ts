import type { Caller } from '../../coordinator/caller.js';
import { may } from './authorize.js';
import type { Principal } from './principal.js';

export function callerOf(principal: Principal, client_ip: string | null): Caller {
  return {
    principal: principal.id,
    user_id: principal.user_id,
    client_ip,
    claim_id_optional: principal.kind === 'open',
    may_work: may(principal.role, 'work'),
    may_review: may(principal.role, 'review'),
    may_administer: may(principal.role, 'administer'),
  };
}
