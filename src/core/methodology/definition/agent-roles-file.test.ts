import { describe, expect, it } from 'vitest';
import { isPair, parseDocument, visit } from 'yaml';
import { checkAuthority } from './authority.js';
import { DEFAULT_FILES } from './defaults.generated.js';
import { parseMethodology } from './read-methodology.js';

/** The example of `agent_roles.yml` in the specification, verbatim. */
const AGENT_ROLES = `roles:
  architect:
    converge_edges: [intent_requirements, requirements_design, design_code]
  tdd_engineer:
    converge_edges: [code_unit_tests, design_test_cases]
  cicd_agent:
    converge_edges: [uat_tests, cicd]
  full_stack:
    converge_edges: [all]  # single-agent backward compat
`;

function parse(files: Record<string, string>) {
  const parsed = parseMethodology(new Map(Object.entries(files)));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed;
}

describe('agent_roles.yml of the specification', () => {
  const { methodology, warnings } = parse({ 'agent_roles.yml': AGENT_ROLES });

  it('loads unchanged, without warnings', () => {
    expect(warnings).toEqual([]);
    expect(Object.keys(methodology.roles.roles)).toEqual([
      'architect',
      'tdd_engineer',
      'cicd_agent',
      'full_stack',
    ]);
  });

  // req: ROL-006
  it('gives cicd_agent the edges that end at uat_tests and at cicd, and no other', () => {
    expect(methodology.roles.roles.cicd_agent?.converge_edges).toEqual(['design_uat_tests', 'code_cicd']);
    const decisionOn = (edge: string) =>
      checkAuthority(methodology, { edge, agent_role: 'cicd_agent', files: [], is_human: false }).decision;
    expect(['design→uat_tests', 'code→cicd', 'cicd→running_system', 'design→code'].map(decisionOn)).toEqual([
      'granted',
      'granted',
      'escalate',
      'escalate',
    ]);
  });

  it('reads a name as an asset type only if no edge has that name, and warns about an unknown name', () => {
    const topology = `asset_types: { a: {}, b: {}, c: {} }
transitions:
  - { source: a, target: c }
  - { source: b, target: c }
  - { name: b, source: a, target: b }
`;
    const roles = 'roles: { one: { converge_edges: [c, b, d] } }';
    const custom = parse({ 'graph/graph_topology.yml': topology, 'agent_roles.yml': roles });
    expect(custom.methodology.roles.roles.one?.converge_edges).toEqual(['a_c', 'b_c', 'a_b']);
    const roleWarnings = custom.warnings.filter(({ file }) => file === 'agent_roles.yml');
    expect(roleWarnings).toMatchObject([
      { path: 'roles.one.converge_edges[2]', message: expect.stringContaining('"d"') },
    ]);
  });
});

/** A value that no field accepts. If a field is read, this value causes a fault or appears in the parsed result. */
const ODD_VALUE = [{ odd_value: 7 }];

describe('what gen init writes', () => {
  const asParsed = (path: string, text: string): string =>
    JSON.stringify(parseMethodology(new Map([[path, text]])));

  it.each([...DEFAULT_FILES])('is read: every field of %s changes what is parsed', (path, text) => {
    const before = asParsed(path, text);
    const document = parseDocument(text);
    const unreadFields: string[] = [];
    const visitedNames = new Set<string>();
    visit(document, {
      Pair(_, pair, ancestors) {
        const name = [...ancestors.filter(isPair), pair].map(({ key }) => String(key)).join('.');
        // All entries of a list have the same fields, so each field is tried in one entry only.
        if (visitedNames.has(name)) return;
        visitedNames.add(name);
        const { value } = pair;
        pair.value = document.createNode(ODD_VALUE);
        if (asParsed(path, document.toString()) === before) unreadFields.push(name);
        pair.value = value;
      },
    });
    expect(unreadFields).toEqual([]);
  });
});
