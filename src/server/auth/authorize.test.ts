import { describe, expect, it } from 'vitest';
import { ACTIONS, type Action } from '../../core/contract/operation.js';
import { authorize, callerOf } from './authorize.js';
import { OPEN_PRINCIPAL, type Principal, ROLES, type Role } from './principal.js';

const isStillAuthorized = () => true;

const EXPECTED: Record<Role, readonly Action[]> = {
  viewer: ['public', 'read'],
  agent: ['public', 'read', 'work', 'tell', 'upload'],
  runner: ['public', 'read', 'upload', 'attest'],
  reviewer: ['public', 'read', 'tell', 'review'],
  admin: [...ACTIONS],
  operator: [...ACTIONS],
};
const principalOf = (role: Role, tenant_id: string | null = 'acme'): Principal => ({
  id: 'key-1',
  kind: 'key',
  tenant_id,
  role,
  name: null,
  user_id: null,
  agent_role: null,
});

describe('authorization', () => {
  it.each(ROLES)('allows %s the actions of its role in its own tenant', (role) => {
    const allowed = ACTIONS.filter((action) => authorize(principalOf(role), action, 'acme') === 'allowed');
    expect(allowed).toEqual(EXPECTED[role]);
    const forbiddenActions = ACTIONS.filter((action) => !allowed.includes(action));
    for (const action of forbiddenActions)
      expect(authorize(principalOf(role), action, 'acme')).toBe('forbidden');
  });

  it.each(ROLES)('hides other tenants from %s for every action', (role) => {
    for (const action of ACTIONS.filter((each) => each !== 'public')) {
      expect(authorize(principalOf(role), action, 'other')).toBe('hidden');
    }
  });

  it('gives platform rights to an operator without a tenant, and to no other credential', () => {
    for (const role of ROLES) {
      expect(authorize(principalOf(role), 'read', null)).toBe('forbidden');
      expect(authorize(principalOf(role, null), 'read', null)).toBe(
        role === 'operator' ? 'allowed' : 'forbidden',
      );
    }
  });

  // req: TEN-006
  it('hides every tenant from a credential that has no tenant and is not an operator', () => {
    for (const role of ROLES.filter((each) => each !== 'operator')) {
      expect(authorize(principalOf(role, null), 'read', 'acme')).toBe('hidden');
    }
  });

  it('allows a platform operator, and any caller in open mode, every action in every tenant', () => {
    for (const principal of [principalOf('operator', null), OPEN_PRINCIPAL]) {
      for (const action of ACTIONS) expect(authorize(principal, action, 'any')).toBe('allowed');
    }
  });

  it('makes the claim id optional in open mode only', () => {
    expect(callerOf(OPEN_PRINCIPAL, null, isStillAuthorized).claim_id_optional).toBe(true);
    expect(callerOf(principalOf('agent'), '10.0.0.7', isStillAuthorized)).toEqual({
      principal: 'key-1',
      user_id: null,
      client_ip: '10.0.0.7',
      agent_role: null,
      claim_id_optional: false,
      may_work: true,
      may_review: false,
      may_administer: false,
      isStillAuthorized,
    });
  });

  it('lets only reviewers, admins and operators review', () => {
    expect(ROLES.filter((role) => callerOf(principalOf(role), null, isStillAuthorized).may_review)).toEqual([
      'reviewer',
      'admin',
      'operator',
    ]);
  });
});
