export const CICD_RUNNING_SYSTEM_EDGE = `edge: "cicd→running_system"
pattern: deployment
description: "From a release to a system that runs"

checklist:
  - name: deployment_succeeds
    type: deterministic
    criterion: "The release is in place"
    source: default
    required: true
    command: "$tools.deployment.command $tools.deployment.args"
    pass_criterion: "$tools.deployment.pass_criterion"
  - name: health_check_passes
    type: deterministic
    criterion: "The system answers, and says that it is well"
    source: default
    required: true
    command: "$tools.health_check.command $tools.health_check.args"
    pass_criterion: "$tools.health_check.pass_criterion"
  - name: rollback_ready
    type: deterministic
    criterion: "The way back has been tried"
    source: default
    required: false
    command: "$tools.rollback.command $tools.rollback.args"
    pass_criterion: "$tools.rollback.pass_criterion"

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Name the commands under tools.deployment and tools.health_check of the project constraints.
`;
