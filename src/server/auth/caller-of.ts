import type { Caller } from '../../coordinator/authentication/caller.js';
import { roleAllows } from './authorize.js';
import type { Principal } from './principal.js';

export function callerOf(principal: Principal, client_ip: string | null): Caller {
  return {
    principal: principal.id,
    user_id: principal.user_id,
    client_ip,
    claim_id_optional: principal.kind === 'open',
    may_work: roleAllows(principal.role, 'work'),
    may_review: roleAllows(principal.role, 'review'),
    may_administer: roleAllows(principal.role, 'administer'),
    may_create_project: roleAllows(principal.role, 'administer'),
  };
}
