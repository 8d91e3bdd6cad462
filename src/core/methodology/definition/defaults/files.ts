import { CONSTRAINTS } from './constraints.js';
import { COORDINATION } from './coordination.js';
import { BDD_EDGE } from './edges/bdd.js';
import { CICD_RUNNING_SYSTEM_EDGE } from './edges/cicd-running-system.js';
import { CODE_CICD_EDGE } from './edges/code-cicd.js';
import { DESIGN_CODE_EDGE } from './edges/design-code.js';
import { DESIGN_TESTS_EDGE } from './edges/design-tests.js';
import { FEEDBACK_LOOP_EDGE } from './edges/feedback-loop.js';
import { INTENT_REQUIREMENTS_EDGE } from './edges/intent-requirements.js';
import { REQUIREMENTS_DESIGN_EDGE } from './edges/requirements-design.js';
import { RUNNING_SYSTEM_TELEMETRY_EDGE } from './edges/running-system-telemetry.js';
import { TDD_EDGE } from './edges/tdd.js';
import { FULL_PROFILE } from './profiles/full.js';
import { HOTFIX_PROFILE } from './profiles/hotfix.js';
import { MINIMAL_PROFILE } from './profiles/minimal.js';
import { POC_PROFILE } from './profiles/poc.js';
import { SPIKE_PROFILE } from './profiles/spike.js';
import { STANDARD_PROFILE } from './profiles/standard.js';
import { ROLES } from './roles.js';
import { TOPOLOGY } from './topology.js';

/**
 * Built-in files: written by `gen init`, and used for every file that a workspace lacks. By path relative to
 * `.ai-workspace/`.
 */
export const DEFAULT_FILES: ReadonlyMap<string, string> = new Map([
  ['graph/graph_topology.yml', TOPOLOGY],
  ['graph/edges/intent_requirements.yml', INTENT_REQUIREMENTS_EDGE],
  ['graph/edges/requirements_design.yml', REQUIREMENTS_DESIGN_EDGE],
  ['graph/edges/design_code.yml', DESIGN_CODE_EDGE],
  ['graph/edges/tdd.yml', TDD_EDGE],
  ['graph/edges/design_tests.yml', DESIGN_TESTS_EDGE],
  ['graph/edges/bdd.yml', BDD_EDGE],
  ['graph/edges/code_cicd.yml', CODE_CICD_EDGE],
  ['graph/edges/cicd_running_system.yml', CICD_RUNNING_SYSTEM_EDGE],
  ['graph/edges/running_system_telemetry.yml', RUNNING_SYSTEM_TELEMETRY_EDGE],
  ['graph/edges/feedback_loop.yml', FEEDBACK_LOOP_EDGE],
  ['profiles/full.yml', FULL_PROFILE],
  ['profiles/standard.yml', STANDARD_PROFILE],
  ['profiles/poc.yml', POC_PROFILE],
  ['profiles/spike.yml', SPIKE_PROFILE],
  ['profiles/hotfix.yml', HOTFIX_PROFILE],
  ['profiles/minimal.yml', MINIMAL_PROFILE],
  ['agent_roles.yml', ROLES],
  ['coordination.yml', COORDINATION],
  ['context/project_constraints.yml', CONSTRAINTS],
]);
