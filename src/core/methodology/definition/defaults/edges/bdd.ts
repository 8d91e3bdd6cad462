export const BDD_EDGE = `edge: "design→uat_tests"
pattern: bdd_scenarios
description: "From the design to scenarios in the words of its users"

checklist:
  - name: scenarios_cover_all_requirements
    type: agent
    criterion: "Each requirement of the feature has a scenario"
    source: default
    required: true
  - name: business_language_only
    type: agent
    criterion: "No scenario speaks of code"
    source: default
    required: true
  - name: given_when_then_structure
    type: agent
    criterion: "Each scenario says what is given, what happens and what follows"
    source: default
    required: true
  - name: req_tags_present
    type: agent
    criterion: "Each scenario names its requirements"
    source: default
    required: true
  - name: positive_and_negative_paths
    type: agent
    criterion: "What should work and what should not are both tried"
    source: default
    required: true
  - name: human_approves_language
    type: human
    criterion: "Somebody who uses the system understands every scenario"
    source: default
    required: true
  - name: human_approves_coverage
    type: human
    criterion: "A person agrees that what matters is tried"
    source: default
    required: true

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Write for somebody who has never seen the code.
`;
