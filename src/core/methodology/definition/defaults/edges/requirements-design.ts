export const REQUIREMENTS_DESIGN_EDGE = `edge: "requirements→design"
pattern: architecture_design
description: "From what must hold to how it is built"

checklist:
  - name: all_reqs_traced_to_components
    type: agent
    criterion: "Every requirement is served by a component that names it"
    source: default
    required: true
  - name: no_orphan_components
    type: agent
    criterion: "No component serves nothing"
    source: default
    required: true
  - name: interfaces_consistent
    type: agent
    criterion: "What one component offers is what the other expects"
    source: default
    required: true
  - name: dependencies_sound
    type: agent
    criterion: "Components depend on each other in one direction, without circles"
    source: default
    required: true
  - name: data_models_present
    type: agent
    criterion: "What is stored and exchanged is described"
    source: default
    required: true
  - name: ecosystem_compatibility_resolved
    type: agent
    criterion: "Language, runtime and versions are settled and fit each other"
    source: default
    required: true
  - name: deployment_target_resolved
    type: agent
    criterion: "It is settled where it runs"
    source: default
    required: true
  - name: security_model_resolved
    type: agent
    criterion: "It is settled who may do what, and how data is protected"
    source: default
    required: true
  - name: build_system_resolved
    type: agent
    criterion: "It is settled what builds it"
    source: default
    required: true
  - name: advisory_dimensions_considered
    type: agent
    criterion: "The other dimensions were thought of, or set aside with a reason"
    source: default
    required: false
  - name: adrs_for_decisions
    type: agent
    criterion: "Each decision that would be costly to change is recorded"
    source: default
    required: true
  - name: adr_depth_adequate
    type: agent
    criterion: "A record tells the context, what else was possible, and what follows"
    source: default
    required: true
  - name: architecture_diagrams_present
    type: agent
    criterion: "A picture shows the components and what flows between them"
    source: default
    required: true
  - name: human_approves_architecture
    type: human
    criterion: "A person agrees to build it so"
    source: default
    required: true

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Settle the mandatory dimensions first; the rest of the design rests on them.
`;
