export const MINIMAL_PROFILE = `profile: minimal
description: "The least that still has a stopping rule"

graph:
  include:
    - "intent→requirements"
    - "design→code"
  skip:
    - "requirements→design"
    - "code↔unit_tests"
    - "design→test_cases"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [agent]
  overrides: {}

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: false
  max_iterations: 5
  stuck_threshold: 3

iteration:
  budget: time_boxed
  time_box:
    duration: "10 minutes"
    check_in: none
    on_expiry: accept_best_effort

vector_types: [feature, discovery, spike, poc, hotfix]
`;
