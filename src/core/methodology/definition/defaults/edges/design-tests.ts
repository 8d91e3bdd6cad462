export const DESIGN_TESTS_EDGE = `edge: "design→test_cases"
pattern: integration_tests
description: "From the design to tests of components together"

checklist:
  - name: covers_component_interactions
    type: agent
    criterion: "Each interface of the design is crossed by a test"
    source: default
    required: true
  - name: covers_error_paths
    type: agent
    criterion: "Failures at each interface are tried"
    source: default
    required: true
  - name: req_tags_present
    type: agent
    criterion: "Each test names the requirements that it proves"
    source: default
    required: true
  - name: tests_are_independent
    type: agent
    criterion: "Tests run in any order"
    source: default
    required: true
  - name: all_design_components_covered
    type: agent
    criterion: "No component of the design is left out"
    source: default
    required: true
  - name: valid_test_syntax
    type: deterministic
    criterion: "Every source file is valid, tests among them"
    source: default
    required: true
    command: "$tools.syntax_checker.command $tools.syntax_checker.args"
    pass_criterion: "$tools.syntax_checker.pass_criterion"
  - name: tests_execute
    type: deterministic
    criterion: "The tests run to their end"
    source: default
    required: true
    command: "$tools.test_runner.command $tools.test_runner.args"
    pass_criterion: "$tools.test_runner.pass_criterion"
  - name: human_approves_coverage
    type: human
    criterion: "A person agrees that what matters is tested"
    source: default
    required: true

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Derive tests from the design alone; a test that knows the code proves little.
`;
