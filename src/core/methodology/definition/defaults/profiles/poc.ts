export const POC_PROFILE = `profile: poc
description: "Shows that an idea can work, or that it cannot"

graph:
  include:
    - "intent→requirements"
    - "requirements→design"
    - "design→code"
  skip:
    - "code↔unit_tests"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [agent, human]
  overrides:
    "design→code":
      evaluators: [agent]

convergence:
  rule: hypothesis_resolved_or_timeout
  human_required_on_all_edges: false
  max_iterations: 8
  stuck_threshold: 5

iteration:
  budget: time_boxed
  time_box:
    duration: "3 weeks"
    check_in: weekly
    on_expiry: fold_back

vector_types: [poc, spike, discovery]
`;
