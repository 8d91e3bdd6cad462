export const RUNNING_SYSTEM_TELEMETRY_EDGE = `edge: "running_system→telemetry"
pattern: observation
description: "From a running system to what it tells of itself"

checklist:
  - name: telemetry_flows
    type: deterministic
    criterion: "What the system tells arrives"
    source: default
    required: true
    command: "$tools.telemetry_probe.command $tools.telemetry_probe.args"
    pass_criterion: "$tools.telemetry_probe.pass_criterion"
  - name: telemetry_tag_format
    type: deterministic
    criterion: "What it tells names the requirements it is about"
    source: traceability
    required: true
    command: "$tools.telemetry_tags.command $tools.telemetry_tags.args"
    pass_criterion: "$tools.telemetry_tags.pass_criterion"

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Name the command under tools.telemetry_probe of the project constraints.
`;
