import type { EffectiveCheck } from '../contract/checks.js';
import type { MachineState, StateMachine } from './asl.js';
import type { EdgePlan } from './edge-plan.js';

/** The example of an edge file in the specification, verbatim. */
export const SPECIFICATION_EDGE_FILE = `edge_type: requirements_design
source: requirements
target: design
evaluators:
  - type: deterministic
    command: "pytest tests/design/ -v"
  - type: agent
    checklist:
      - "ADRs reference implementation requirements"
      - "Design does not introduce spec-level concerns"
  - type: human
    gate: approve_before_promote
convergence:
  max_iterations: 5
  stuck_threshold: 3
  human_required: true
`;

export const buildCheck = (
  name: string,
  type: EffectiveCheck['type'] = 'deterministic',
  overrides: Partial<EffectiveCheck> = {},
): EffectiveCheck => ({
  name,
  type,
  criterion: name,
  required: true,
  ...(type === 'deterministic' ? { command: 'true' } : {}),
  skipped: null,
  ...overrides,
});

export const buildEdgePlan = (overrides: Partial<EdgePlan> = {}): EdgePlan => ({
  feature_id: 'REQ-F-SHOP-001',
  edge: 'design_code',
  source: 'design',
  target: 'code',
  description: '',
  guidance: '',
  context: { required: [], recommended: [] },
  checks: [buildCheck('tests_pass')],
  evidence: 'reported',
  max_iterations: 5,
  stuck_threshold: 3,
  construct: null,
  evaluate: null,
  budget: {},
  settings: {},
  ...overrides,
});

/** The machine itself and the branches of its parallel states, at every depth. */
export function machinesIn(machine: StateMachine): StateMachine[] {
  const branches = Object.values(machine.States).flatMap((state) =>
    state.Type === 'Parallel' ? state.Branches : [],
  );
  return [machine, ...branches.flatMap(machinesIn)];
}

export const statesIn = (machine: StateMachine): [string, MachineState][] =>
  machinesIn(machine).flatMap(({ States }) => Object.entries(States));

/** The states that may follow a state, including those after an error. */
export function targetsOf(state: MachineState): string[] {
  const next = 'Next' in state && state.Next !== undefined ? [state.Next] : [];
  const caught = 'Catch' in state ? (state.Catch ?? []).map(({ Next }) => Next) : [];
  if (state.Type !== 'Choice') return [...next, ...caught];
  const chosen = state.Choices.map(({ Next }) => Next);
  return state.Default === undefined ? chosen : [...chosen, state.Default];
}
