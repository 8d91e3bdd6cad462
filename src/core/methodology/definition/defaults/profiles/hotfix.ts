export const HOTFIX_PROFILE = `profile: hotfix
description: "Repairs what is broken in production, now"

graph:
  include:
    - "intent→requirements"
    - "design→code"
    - "code↔unit_tests"
  skip:
    - "requirements→design"
    - "design→test_cases"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [deterministic, human]
  overrides:
    "intent→requirements":
      evaluators: [human]
    "code↔unit_tests":
      evaluators: [deterministic]

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: false
  max_iterations: 3
  stuck_threshold: 1
  # Asked of a human on the last edge.
  additional_condition: production_verified

iteration:
  budget: time_boxed
  time_box:
    duration: "4 hours"
    check_in: hourly
    on_expiry: escalate

vector_types: [hotfix]
`;
