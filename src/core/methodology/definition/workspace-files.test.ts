import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseValidMethodology } from '../testing.js';
import { parseMethodology } from './read-methodology.js';

/** The examples of the documentation page, each with its path in the first line. */
const page = readFileSync(new URL('../../../../docs/workspace-files.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
const examples = blocks.map((text): [string, string] => [/^# (\S+\.yml)\n/.exec(text)?.[1] ?? '', text]);

describe('the documentation page about workspace files', () => {
  it('has one example of each kind of file', () => {
    expect(examples.map(([path]) => path)).toEqual([
      'graph/graph_topology.yml',
      'graph/edges/tdd.yml',
      'graph/edges/requirements_design.yml',
      'graph/evaluator_defaults.yml',
      'profiles/nightly.yml',
      'agent_roles.yml',
      'coordination.yml',
      'context/project_constraints.yml',
      'graph/modules.yml',
      'features/active/REQ-F-CART-001.yml',
    ]);
  });

  it.each(examples)('has a valid example %s', (path, text) => {
    expect(parseMethodology(new Map([[path, text]]))).toMatchObject({ ok: true });
  });

  // req: EVL-001
  it('has examples that parse to the documented values', () => {
    const { methodology, features } = parseValidMethodology(Object.fromEntries(examples.slice(1)));
    expect(methodology).toMatchObject({
      mode: 'multi',
      claims: { on_ttl: 'hold', max_hold_seconds: 86_400 },
      edges: { code_unit_tests: { max_iterations: 8, stuck_threshold: 4 } },
      profiles: { nightly: { time_box: { duration_seconds: 28_800, check_in_seconds: 3600 } } },
      modules: { dependency_dag: { cart: ['prices'] } },
      constraints: { thresholds: { test_coverage_minimum: 0.9 } },
    });
    expect(methodology.edges.design_code?.checklist.at(-1)?.name).toBe('licence_present');
    expect(features).toMatchObject([{ priority: 'high', time_box: { duration_seconds: 1_209_600 } }]);
  });

  it('names every tool that the built-in edges use', () => {
    const { edges } = parseValidMethodology().methodology;
    const toolVariables = JSON.stringify(edges).matchAll(/\$tools\.(\w+)\./g);
    for (const [, tool] of toolVariables) expect(page).toContain(`\`${tool}\``);
  });
});
