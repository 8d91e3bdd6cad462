export const FULL_PROFILE = `profile: full
description: "Every step, and a human on each: for what is audited or dangerous"

graph:
  include: all

evaluators:
  default: [human, agent, deterministic]
  overrides: {}

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: true
  max_iterations: 7
  stuck_threshold: 3

iteration:
  budget: unlimited

vector_types: [feature, discovery, spike]
`;
