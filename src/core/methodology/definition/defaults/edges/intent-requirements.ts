export const INTENT_REQUIREMENTS_EDGE = `edge: "intent→requirements"
pattern: requirements_elicitation
description: "From what somebody wants to what must hold"

checklist:
  - name: all_intent_aspects_covered
    type: agent
    criterion: "Every part of the intent has at least one requirement"
    source: default
    required: true
  - name: requirements_are_testable
    type: agent
    criterion: "For each requirement one can say how it would be shown to fail"
    source: default
    required: true
  - name: acceptance_criteria_specific
    type: agent
    criterion: "Acceptance criteria name values and situations, not wishes"
    source: default
    required: true
  - name: no_ambiguous_language
    type: agent
    criterion: "No requirement leaves its reader to guess"
    source: default
    required: true
  - name: correct_key_format
    type: agent
    criterion: "Every requirement has a key of its own that no other has"
    source: default
    required: true
  - name: traces_to_intent
    type: agent
    criterion: "Every requirement names the intent it comes from"
    source: default
    required: true
  - name: no_compound_requirements
    type: agent
    criterion: "One requirement says one thing"
    source: default
    required: true
  - name: terminology_defines_domain_terms
    type: agent
    criterion: "Words of the domain are explained once"
    source: default
    required: true
  - name: success_criteria_measurable
    type: agent
    criterion: "It is said what will be measured, and from which value on it counts"
    source: default
    required: true
  - name: acceptance_criteria_bound_to_feature
    type: agent
    criterion: "The feature carries the criteria that it must meet"
    source: default
    required: true
  - name: diagrams_present
    type: agent
    criterion: "A picture shows what words alone do not"
    source: default
    required: false
  - name: human_validates_completeness
    type: human
    criterion: "A person has read it and misses nothing"
    source: default
    required: true
  - name: human_validates_priorities
    type: human
    criterion: "A person agrees with what comes first"
    source: default
    required: true

convergence:
  rule: all_required_checks_pass

agent_guidance: |
  Write requirements that a stranger can test. Ask where the intent is silent; do not invent.
`;
