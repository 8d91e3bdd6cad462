import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalEdge, edgeSubject } from './edge-name.js';

const SPELLINGS: Record<string, readonly string[]> = {
  intent_requirements: ['intent→requirements', 'Intent → Requirements', 'intent -> requirements'],
  design_code: [
    'design→code',
    'Design → Code',
    'design->code',
    'DESIGN_CODE',
    'design-code',
    ' design code ',
  ],
  code_unit_tests: [
    'code↔unit_tests',
    'code→unit_tests',
    'code<->unit_tests',
    'Code <-> Unit Tests',
    'Code ↔ Unit Tests',
    'code-unit-tests',
    'tdd',
    'TDD',
  ],
  design_uat_tests: ['Design → UAT Tests', 'bdd', 'design→uat_tests'],
  design_test_cases: ['Design → Test Cases', 'design_tests', 'Design Tests'],
  code_cicd: ['Code → CI/CD', 'code→cicd', 'code -> ci-cd', 'code_ci_cd'],
  cicd_running_system: ['CI/CD → Running System', 'cicd→running_system', 'CICD -> running-system'],
  running_system_telemetry: ['Running System → Telemetry'],
  telemetry_intent: [
    'Telemetry → Intent (Feedback Loop)',
    'feedback_loop',
    'Feedback Loop',
    'telemetry→intent',
  ],
};

describe('the canonical name of an edge', () => {
  for (const [edge, spellings] of Object.entries(SPELLINGS)) {
    it.each([edge, ...spellings])(`is ${edge} for %s`, (name) => {
      expect(canonicalEdge(name)).toBe(edge);
    });
  }

  it.each(['design', 'closure', 'code', 'basis_proj_code'])(
    'leaves the unknown name %s unchanged',
    (name) => {
      expect(canonicalEdge(name)).toBe(name);
    },
  );

  it('is part of the subject of the edge', () => {
    expect(edgeSubject('REQ-F-A-001', 'Code ↔ Unit Tests')).toBe('REQ-F-A-001#code_unit_tests');
  });
});

it('leaves a canonical name unchanged', () => {
  const part = fc.constantFrom('ci', 'CD', '/', '-', '>', '<', '→', '↔', ' ', '_', '(', ')', 'tdd', 'İ', 'x');
  const name = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(part).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(name, (text) => {
      expect(canonicalEdge(canonicalEdge(text))).toBe(canonicalEdge(text));
    }),
    { numRuns: 1000 },
  );
});
