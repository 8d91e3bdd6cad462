export const CONSTRAINTS = `# What variables in checks stand for, and what is settled. A check whose command is empty is skipped, and a required
# check that is skipped stops its edge: fill in what the edges of your profile need.
project:
  name: ""
  default_profile: standard

language:
  primary: ""

tools:
  syntax_checker:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  test_runner:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  coverage:
    command: ""
    args: ""
    pass_criterion: "coverage >= $thresholds.test_coverage_minimum"
  linter:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  formatter:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  type_checker:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
    required: false
  build:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  pipeline:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  deployment:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  health_check:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  rollback:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  telemetry_probe:
    command: ""
    args: ""
    pass_criterion: "exit code 0"
  req_tags:
    command: "gen gaps"
    args: "--layer 1"
    pass_criterion: "exit code 0"
  test_gaps:
    command: "gen gaps"
    args: "--layer 2"
    pass_criterion: "exit code 0"
  telemetry_tags:
    command: "gen gaps"
    args: "--layer 3"
    pass_criterion: "exit code 0"

thresholds:
  # A fraction.
  test_coverage_minimum: 0.8
  max_function_lines: 50

standards: {}

# An empty value is an open question.
constraint_dimensions:
  ecosystem_compatibility: ""
  deployment_target: ""
  security_model: ""
  build_system: ""
  data_governance: ""
  performance_envelope: ""
  observability: ""
  error_handling: ""

architecture:
  patterns: []
  dependency_rules: []
  forbidden: []

evaluator_overrides: {}
`;
