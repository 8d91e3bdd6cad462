export const ROLES = `# Who may say that an edge has converged. Humans always may.
roles:
  architect:
    description: "Decides structure and writes the decisions down"
    converge_edges: [intent_requirements, requirements_design, design_code]
    human_review_bypass: false
  tdd_engineer:
    description: "Writes code and its tests together"
    converge_edges: [code_unit_tests, design_test_cases]
    human_review_bypass: false
  qa_engineer:
    description: "Writes the tests that look at the whole"
    converge_edges: [design_test_cases, design_uat_tests, code_unit_tests]
    human_review_bypass: false
  devops_engineer:
    description: "Builds, ships and runs"
    converge_edges: [code_cicd, cicd_running_system]
    human_review_bypass: false
  observer:
    description: "Watches what runs and says what deviates"
    converge_edges: [running_system_telemetry, telemetry_intent]
    human_review_bypass: false
  full_stack:
    description: "Does everything: the role of an agent that works alone"
    converge_edges: [all]
    human_review_bypass: false

authority:
  human_authority: universal
  # escalate: a human decides; reject: it does not converge; warn: it converges, and the log says so.
  outside_authority_action: escalate
  # Changes under the folders of the specification and of decisions always need a human.
  spec_mutation_requires_human: true

single_agent_defaults:
  agent_id: primary
  agent_role: full_stack
`;
