import { describe, expect, it } from 'vitest';
import { applicableAgentRole } from './agent-role.js';
import { agentRoleSchema } from './ids.js';

describe('applicableAgentRole', () => {
  it.each([
    [null, null, null],
    ['architect', null, 'architect'],
    [null, 'architect', 'architect'],
    ['architect', 'architect', 'architect'],
  ])('named %j and limited to %j: acts as %j', (requestedRole, credentialAgentRole, agent_role) => {
    expect(applicableAgentRole(requestedRole, credentialAgentRole)).toEqual({ ok: true, agent_role });
  });

  it.each(['human-reviewer', 'human', 'Developer', 'developer ', ''])(
    'refuses %j for a credential that is limited to developer, and names both roles and the next step',
    (requestedRole) => {
      const refused = applicableAgentRole(requestedRole, 'developer');
      expect(refused).toMatchObject({ ok: false, message: expect.stringContaining('"developer"') });
      expect(refused).toMatchObject({ message: expect.stringContaining(JSON.stringify(requestedRole)) });
      expect(refused).toMatchObject({ message: expect.stringContaining('omit agent_role') });
    },
  );
});

describe('agentRoleSchema', () => {
  it.each(['developer', 'tdd_engineer', 'human-reviewer', 'a'.repeat(64)])('accepts %s', (role) => {
    expect(agentRoleSchema.safeParse(role).success).toBe(true);
  });
  it.each([
    '',
    'a'.repeat(65),
    'two words',
    '-x',
    'a\nb',
    '\u001b[31mred',
    'r\u00f4le',
    null,
    7,
    ['developer'],
    {},
  ])('refuses %j', (role) => {
    expect(agentRoleSchema.safeParse(role).success).toBe(false);
  });
});
