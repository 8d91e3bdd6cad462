export const DESIGN_CODE_EDGE = `edge: "design→code"
pattern: code_generation
description: "From the design to source text"

checklist:
  - name: code_matches_design
    type: agent
    criterion: "The code has the components and interfaces of the design, and no others"
    source: default
    required: true
  - name: req_tags_present
    type: agent
    criterion: "Source files name the requirements that they implement"
    source: default
    required: true
  - name: follows_coding_standards
    type: agent
    criterion: "The code is written as the standards of the project say"
    source: default
    required: true
  - name: compiles_or_parses
    type: deterministic
    criterion: "Every source file is valid"
    source: default
    required: true
    command: "$tools.syntax_checker.command $tools.syntax_checker.args"
    pass_criterion: "$tools.syntax_checker.pass_criterion"
  - name: lint_passes
    type: deterministic
    criterion: "The linter has nothing to say"
    source: default
    required: true
    command: "$tools.linter.command $tools.linter.args"
    pass_criterion: "$tools.linter.pass_criterion"
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

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Tag what you write with "Implements: REQ-…".
`;
