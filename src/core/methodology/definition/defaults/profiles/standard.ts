export const STANDARD_PROFILE = `profile: standard
description: "The usual way of a feature"

graph:
  include:
    - "intent→requirements"
    - "requirements→design"
    - "design→code"
    - "code↔unit_tests"
  optional:
    - "design→test_cases"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [agent, deterministic]
  overrides:
    "intent→requirements":
      evaluators: [agent, human]
    "requirements→design":
      evaluators: [agent, human]
    "design→uat_tests":
      evaluators: [agent, human]

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: false
  max_iterations: 5
  stuck_threshold: 3

iteration:
  budget: per_sprint

vector_types: [feature, discovery, spike, hotfix]
`;
