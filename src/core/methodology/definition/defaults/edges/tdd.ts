export const TDD_EDGE = `edge: "code↔unit_tests"
pattern: tdd_co_evolution
description: "Code and its unit tests, grown together"

checklist:
  - name: tests_pass
    type: deterministic
    criterion: "Every test passes"
    source: default
    required: true
    command: "$tools.test_runner.command $tools.test_runner.args"
    pass_criterion: "$tools.test_runner.pass_criterion"
  - name: coverage_meets_threshold
    type: deterministic
    criterion: "At least $thresholds.test_coverage_minimum of the code is run by tests"
    source: default
    required: true
    command: "$tools.coverage.command $tools.coverage.args"
    pass_criterion: "$tools.coverage.pass_criterion"
  - name: lint_passes
    type: deterministic
    criterion: "The linter has nothing to say"
    source: default
    required: true
    command: "$tools.linter.command $tools.linter.args"
    pass_criterion: "$tools.linter.pass_criterion"
  - name: format_check
    type: deterministic
    criterion: "The formatter would change nothing"
    source: default
    required: true
    command: "$tools.formatter.command $tools.formatter.args"
    pass_criterion: "$tools.formatter.pass_criterion"
  - name: type_check
    type: deterministic
    criterion: "The types fit"
    source: default
    required: "$tools.type_checker.required"
    command: "$tools.type_checker.command $tools.type_checker.args"
    pass_criterion: "$tools.type_checker.pass_criterion"
  - name: req_tags_in_code
    type: deterministic
    criterion: "Every source file carries a tag of a requirement that exists"
    source: traceability
    required: true
    command: "$tools.req_tags.command $tools.req_tags.args"
    pass_criterion: "$tools.req_tags.pass_criterion"
  - name: req_tags_in_tests
    type: deterministic
    criterion: "Every key has a test that names it"
    source: traceability
    required: true
    command: "$tools.test_gaps.command $tools.test_gaps.args"
    pass_criterion: "$tools.test_gaps.pass_criterion"
  - name: all_req_keys_covered
    type: agent
    criterion: "Each requirement of the feature has a test that fails when it is broken"
    source: default
    required: true
  - name: code_quality
    type: agent
    criterion: "A reader finds the code simple"
    source: default
    required: true
  - name: test_quality
    type: agent
    criterion: "Tests look at behaviour, each at one thing"
    source: default
    required: true
  - name: test_data_strategy
    type: agent
    criterion: "It is clear where test data come from"
    source: default
    required: true
  - name: code_req_keys_have_telemetry
    type: agent
    criterion: "What runs tells which requirement it serves"
    source: traceability
    required: false

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Write the failing test first, then the least code that passes, then tidy up.
`;
