export const FEEDBACK_LOOP_EDGE = `edge: "telemetry→intent"
pattern: feedback_loop
description: "From what was observed to what should be done"

checklist:
  - name: telemetry_tagged_with_req_keys
    type: deterministic
    criterion: "What is observed names the requirements it is about"
    source: default
    required: true
    command: "$tools.telemetry_tags.command $tools.telemetry_tags.args"
    pass_criterion: "$tools.telemetry_tags.pass_criterion"
  - name: deviation_quantified
    type: agent
    criterion: "It is said by how much reality differs from what was required"
    source: default
    required: true
  - name: root_cause_identified
    type: agent
    criterion: "The cause is named, or it is said that it is unknown"
    source: default
    required: true
  - name: affected_requirements_traced
    type: agent
    criterion: "The requirements concerned are named"
    source: default
    required: true
  - name: priority_appropriate
    type: agent
    criterion: "The priority follows from the damage"
    source: default
    required: true
  - name: intent_well_formed
    type: agent
    criterion: "The intent has an id, a description and a source"
    source: default
    required: true
  - name: human_warrants_action
    type: human
    criterion: "A person agrees that something should be done"
    source: default
    required: true
  - name: human_confirms_priority
    type: human
    criterion: "A person agrees how urgent it is"
    source: default
    required: true

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  An intent says what is wrong, not how to mend it.
`;
