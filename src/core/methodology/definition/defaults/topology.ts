export const TOPOLOGY = `# The kinds of assets of this project, and the steps between them, in the order of work.

asset_types:
  intent:
    description: "A problem or an opportunity, as somebody saw it"
    markov_criteria: [has_id, has_description, has_source]
  requirements:
    description: "What must hold, each with its own key and a way to test it"
    markov_criteria: [has_id, has_type, has_acceptance_criteria, traces_to_intent, human_approved]
  design:
    description: "How it is built: components, interfaces, decisions with their reasons"
    markov_criteria: [has_components, traces_to_requirements, adrs_documented, human_approved]
  code:
    description: "Source text, tagged with the keys of the requirements it serves"
    markov_criteria: [compiles, follows_standards, has_req_tags, traces_to_design]
  unit_tests:
    description: "Tests of the code, tagged with the keys they prove"
    markov_criteria: [all_pass, meets_coverage_threshold, has_req_tags]
  test_cases:
    description: "Tests of how components work together, taken from the design"
    markov_criteria: [covers_components, has_req_tags, executable]
  uat_tests:
    description: "Scenarios in the words of those who use the system"
    markov_criteria: [business_language, covers_requirements, human_approved]
  cicd:
    description: "What was built, packed and may be released"
    markov_criteria: [build_passes, tests_pass, has_release_manifest]
  running_system:
    description: "What runs, and where"
    markov_criteria: [deployed, healthy]
  telemetry:
    description: "What the running system tells of itself, tagged with keys of requirements"
    markov_criteria: [has_req_tags, monitored]

transitions:
  - name: "Intent → Requirements"
    source: intent
    target: requirements
    edge_type: standard
    evaluators: [agent, human]
    constructor: agent
    edge_config: "edges/intent_requirements.yml"
  - name: "Requirements → Design"
    source: requirements
    target: design
    edge_type: standard
    evaluators: [agent, human]
    constructor: agent
    edge_config: "edges/requirements_design.yml"
  - name: "Design → Code"
    source: design
    target: code
    edge_type: standard
    evaluators: [agent, deterministic]
    constructor: agent
    edge_config: "edges/design_code.yml"
  - name: "Code ↔ Unit Tests"
    source: code
    target: unit_tests
    edge_type: co_evolution
    evaluators: [agent, deterministic]
    constructor: agent
    edge_config: "edges/tdd.yml"
  - name: "Design → Test Cases"
    source: design
    target: test_cases
    edge_type: standard
    evaluators: [agent, deterministic]
    constructor: agent
    edge_config: "edges/design_tests.yml"
  - name: "Design → UAT Tests"
    source: design
    target: uat_tests
    edge_type: standard
    evaluators: [agent, human]
    constructor: agent
    edge_config: "edges/bdd.yml"
  - name: "Code → CI/CD"
    source: code
    target: cicd
    edge_type: standard
    evaluators: [deterministic]
    constructor: deterministic
    edge_config: "edges/code_cicd.yml"
  - name: "CI/CD → Running System"
    source: cicd
    target: running_system
    edge_type: standard
    evaluators: [deterministic]
    constructor: deterministic
    edge_config: "edges/cicd_running_system.yml"
  - name: "Running System → Telemetry"
    source: running_system
    target: telemetry
    edge_type: standard
    evaluators: [deterministic]
    constructor: deterministic
    edge_config: "edges/running_system_telemetry.yml"
  - name: "Telemetry → Intent (Feedback Loop)"
    source: telemetry
    target: intent
    edge_type: standard
    evaluators: [agent, human]
    constructor: agent
    edge_config: "edges/feedback_loop.yml"

# What a design has to settle. The mandatory ones stop requirements → design while they are undecided.
constraint_dimensions:
  ecosystem_compatibility:
    description: "Language, runtime and the versions they are bound to"
    mandatory: true
  deployment_target:
    description: "Where it runs, and on what"
    mandatory: true
  security_model:
    description: "Who may do what, and how data is protected"
    mandatory: true
  build_system:
    description: "What builds it, and how it is divided"
    mandatory: true
  data_governance:
    description: "Which data, how long, under which rules"
    mandatory: false
  performance_envelope:
    description: "How fast, how much, how it grows"
    mandatory: false
  observability:
    description: "What it logs, counts and traces"
    mandatory: false
  error_handling:
    description: "What it does when something fails"
    mandatory: false

graph_properties: { directed: true, cyclic: true, extensible: true, zoomable: true }
`;
