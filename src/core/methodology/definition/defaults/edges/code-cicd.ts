export const CODE_CICD_EDGE = `edge: "code→cicd"
pattern: build_and_package
description: "From tested code to something that can be released"

checklist:
  - name: build_succeeds
    type: deterministic
    criterion: "The whole builds from a clean copy"
    source: default
    required: true
    command: "$tools.build.command $tools.build.args"
    pass_criterion: "$tools.build.pass_criterion"
  - name: tests_pass
    type: deterministic
    criterion: "Every test passes on what was built"
    source: default
    required: true
    command: "$tools.test_runner.command $tools.test_runner.args"
    pass_criterion: "$tools.test_runner.pass_criterion"
  - name: pipeline_passes
    type: deterministic
    criterion: "The pipeline is green for this very state"
    source: default
    required: true
    command: "$tools.pipeline.command $tools.pipeline.args"
    pass_criterion: "$tools.pipeline.pass_criterion"
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

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Name the commands under tools.build and tools.pipeline of the project constraints.
`;
