import { describe, expect, it } from 'vitest';
import { methodologyOf } from '../testing.js';
import { checkAuthority } from './authority.js';

const BUILT_IN = methodologyOf();
const decide = (overrides: Partial<Parameters<typeof checkAuthority>[1]>, methodology = BUILT_IN) =>
  checkAuthority(methodology, {
    edge: 'design_code',
    agent_role: 'architect',
    files: [],
    is_human: false,
    ...overrides,
  });
const GRANTED = { decision: 'granted', reason: null };
const OUTSIDE = { decision: 'escalate', reason: 'outside_role_authority' };

describe('a role', () => {
  // req: ROL-001, ROL-003
  it('may converge its own edges, in any spelling', () => {
    expect(decide({})).toEqual(GRANTED);
    expect(decide({ edge: 'Design → Code' })).toEqual(GRANTED);
    expect(decide({ agent_role: 'full_stack', edge: 'telemetry_intent' })).toEqual(GRANTED);
  });

  it.each([
    ['for another edge', { edge: 'code_unit_tests' }],
    ['with an unknown name', { agent_role: 'pilot' }],
    ['with the name of an object property', { agent_role: 'constructor' }],
    ['that is not given', { agent_role: null }],
  ])('%s has no authority', (_, request) => {
    expect(decide(request)).toEqual(OUTSIDE);
  });

  it.each(['escalate', 'reject', 'warn'] as const)(
    'outside its authority gets the configured action %s',
    (decision) => {
      const text = `roles: { a: { converge_edges: [tdd] } }\nauthority: { outside_authority_action: ${decision} }\n`;
      const methodology = methodologyOf({ 'agent_roles.yml': text });
      expect(decide({ agent_role: 'a', edge: 'code_unit_tests' }, methodology)).toEqual(GRANTED);
      expect(decide({ agent_role: 'a' }, methodology)).toEqual({
        decision,
        reason: 'outside_role_authority',
      });
    },
  );
});

describe('the specification of a project', () => {
  // req: WSP-004, WSP-005
  it.each([
    'specification/INTENT.md',
    './specification/core/a.md',
    'Specification/a.md',
    'src/../spec/a.md',
    'spec\\a.md',
    'adrs/0001.md',
    'docs/decisions/0001.md',
    'imp/design/adrs/ADR-1.md',
    '../elsewhere/a.md',
  ])('can be changed by a person only: %s', (file) => {
    expect(decide({ files: ['src/a.ts', file] })).toEqual({ decision: 'escalate', reason: 'spec_mutation' });
    expect(decide({ files: [file], is_human: true })).toEqual(GRANTED);
  });

  it.each(['src/a.ts', 'packages/a/spec/a.test.ts', 'src/specification.ts', 'docs/adrs.md'])(
    'does not include %s',
    (file) => {
      expect(decide({ files: [file] })).toEqual(GRANTED);
    },
  );

  it('can be changed by a role if the project allows it', () => {
    const text =
      'roles: { a: { converge_edges: all } }\nauthority: { spec_mutation_requires_human: false }\n';
    const methodology = methodologyOf({ 'agent_roles.yml': text });
    expect(decide({ agent_role: 'a', files: ['specification/a.md'] }, methodology)).toEqual(GRANTED);
  });
});

it('grants people universal authority', () => {
  expect(decide({ is_human: true, agent_role: null, edge: 'moon' })).toEqual(GRANTED);
});

describe('the configuration of other programs', () => {
  const ESCALATED = { decision: 'escalate', reason: 'commands_programs', paths: ['.claude/settings.json'] };
  const files = ['src/a.ts', '.claude/settings.json', 'spec/a.md'];

  it('can be changed by a person only, whatever the role and the project configuration', () => {
    const text =
      'roles: { a: { converge_edges: all } }\nauthority: { spec_mutation_requires_human: false, outside_authority_action: warn }\n';
    const methodology = methodologyOf({ 'agent_roles.yml': text });
    for (const configuration of [BUILT_IN, methodology])
      expect(decide({ agent_role: 'a', files }, configuration)).toEqual(ESCALATED);
    const unconfigured = { edge: 'design_code', agent_role: null, files, is_human: false };
    expect(checkAuthority(null, unconfigured)).toEqual(ESCALATED);
    expect(checkAuthority(null, { ...unconfigured, is_human: true })).toEqual(GRANTED);
    expect(checkAuthority(null, { ...unconfigured, files: ['spec/a.md'] })).toEqual(GRANTED);
  });
});
