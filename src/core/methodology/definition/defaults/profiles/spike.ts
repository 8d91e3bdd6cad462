export const SPIKE_PROFILE = `profile: spike
description: "Weighs a risk, or answers one question"

graph:
  include:
    - "intent→requirements"
    - "requirements→design"
    - "design→code"
  skip:
    - "code↔unit_tests"
    - "design→uat_tests"
    - "design→test_cases"
    - "code→cicd"

evaluators:
  default: [agent, human]
  overrides:
    "design→code":
      evaluators: [agent]

convergence:
  rule: question_answered_or_timeout
  human_required_on_all_edges: false
  max_iterations: 10
  stuck_threshold: 5

iteration:
  budget: time_boxed
  time_box:
    duration: "1 week"
    check_in: daily
    on_expiry: fold_back

vector_types: [spike, discovery]
`;
