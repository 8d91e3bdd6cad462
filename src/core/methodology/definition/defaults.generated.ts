// Generated from defaults/*.yml. Do not edit: change those files, then run `npm run generate`.

/**
 * Built-in files: written by `gen init`, and used for every file that a workspace lacks. By path relative to
 * `.ai-workspace/`.
 */
export const DEFAULT_FILES: ReadonlyMap<string, string> = new Map([
  [
    'graph/graph_topology.yml',
    `# The asset types of this project, and the steps between them in the order of work.

asset_types:
  intent:
    description: "A problem or an opportunity, as a person describes it"
    markov_criteria: [has_id, has_description, has_source]
  requirements:
    description: "What the system must do; each requirement has a key and can be tested"
    markov_criteria: [has_id, has_type, has_acceptance_criteria, traces_to_intent, human_approved]
  design:
    description: "Components, interfaces, and decisions with their reasons"
    markov_criteria: [has_components, traces_to_requirements, adrs_documented, human_approved]
  code:
    description: "Source files, tagged with the keys of the requirements that they implement"
    markov_criteria: [compiles, follows_standards, has_req_tags, traces_to_design]
  unit_tests:
    description: "Tests of the code, tagged with the keys of the requirements that they prove"
    markov_criteria: [all_pass, meets_coverage_threshold, has_req_tags]
  test_cases:
    description: "Tests of how the components of the design work together"
    markov_criteria: [covers_components, has_req_tags, executable]
  uat_tests:
    description: "Scenarios in the words of the users"
    markov_criteria: [business_language, covers_requirements, human_approved]
  cicd:
    description: "A tested build that can be released"
    markov_criteria: [build_passes, tests_pass, has_release_manifest]
  running_system:
    description: "The deployed system"
    markov_criteria: [deployed, healthy]
  telemetry:
    description: "Logs, metrics and traces of the running system, tagged with keys of requirements"
    markov_criteria: [has_req_tags, monitored]

transitions:
  - name: "Intent → Requirements"
    source: intent
    target: requirements
    edge_type: standard
    evaluators: [agent, human]
    edge_config: "edges/intent_requirements.yml"
  - name: "Requirements → Design"
    source: requirements
    target: design
    edge_type: standard
    evaluators: [agent, human]
    edge_config: "edges/requirements_design.yml"
  - name: "Design → Code"
    source: design
    target: code
    edge_type: standard
    evaluators: [agent, deterministic]
    edge_config: "edges/design_code.yml"
  - name: "Code ↔ Unit Tests"
    source: code
    target: unit_tests
    edge_type: co_evolution
    evaluators: [agent, deterministic]
    edge_config: "edges/tdd.yml"
  - name: "Design → Test Cases"
    source: design
    target: test_cases
    edge_type: standard
    evaluators: [agent, deterministic]
    edge_config: "edges/design_tests.yml"
  - name: "Design → UAT Tests"
    source: design
    target: uat_tests
    edge_type: standard
    evaluators: [agent, human]
    edge_config: "edges/bdd.yml"
  - name: "Code → CI/CD"
    source: code
    target: cicd
    edge_type: standard
    evaluators: [deterministic]
    edge_config: "edges/code_cicd.yml"
  - name: "CI/CD → Running System"
    source: cicd
    target: running_system
    edge_type: standard
    evaluators: [deterministic]
    edge_config: "edges/cicd_running_system.yml"
  - name: "Running System → Telemetry"
    source: running_system
    target: telemetry
    edge_type: standard
    evaluators: [deterministic]
    edge_config: "edges/running_system_telemetry.yml"
  - name: "Telemetry → Intent (Feedback Loop)"
    source: telemetry
    target: intent
    edge_type: standard
    evaluators: [agent, human]
    edge_config: "edges/feedback_loop.yml"

# The questions that a design decides. requirements → design cannot converge while a mandatory one is undecided.
constraint_dimensions:
  # Language, runtime, and their versions.
  ecosystem_compatibility: { mandatory: true }
  # Where the system runs, and on which platform.
  deployment_target: { mandatory: true }
  # Permissions, and how data is protected.
  security_model: { mandatory: true }
  # The build tool, and the division into modules.
  build_system: { mandatory: true }
  # Which data is kept, for how long, and under which rules.
  data_governance: { mandatory: false }
  # Speed, load and growth.
  performance_envelope: { mandatory: false }
  # What the system logs, counts and traces.
  observability: { mandatory: false }
  # How the system handles failures.
  error_handling: { mandatory: false }
`,
  ],
  [
    'graph/edges/intent_requirements.yml',
    `edge: "intent→requirements"
description: "From an intent to requirements"

checklist:
  - name: all_intent_aspects_covered
    type: agent
    criterion: "Every part of the intent has at least one requirement"
    source: default
    required: true
  - name: requirements_are_testable
    type: agent
    criterion: "A test that would show its failure can be stated for each requirement"
    source: default
    required: true
  - name: acceptance_criteria_specific
    type: agent
    criterion: "Acceptance criteria name concrete values and situations"
    source: default
    required: true
  - name: no_ambiguous_language
    type: agent
    criterion: "Every requirement can be understood in one way only"
    source: default
    required: true
  - name: correct_key_format
    type: agent
    criterion: "Every requirement has a unique key"
    source: default
    required: true
  - name: traces_to_intent
    type: agent
    criterion: "Every requirement names its intent"
    source: default
    required: true
  - name: no_compound_requirements
    type: agent
    criterion: "Each requirement states one thing"
    source: default
    required: true
  - name: terminology_defines_domain_terms
    type: agent
    criterion: "Each term of the domain is defined once"
    source: default
    required: true
  - name: success_criteria_measurable
    type: agent
    criterion: "Each success criterion names a measured value and its target"
    source: default
    required: true
  - name: acceptance_criteria_bound_to_feature
    type: agent
    criterion: "The acceptance criteria are recorded in the feature"
    source: default
    required: true
  - name: diagrams_present
    type: agent
    criterion: "Diagrams show what is hard to describe in words"
    source: default
    required: false
  - name: human_validates_completeness
    type: human
    criterion: "A person has read the requirements and finds them complete"
    source: default
    required: true
  - name: human_validates_priorities
    type: human
    criterion: "A person agrees with the priorities"
    source: default
    required: true

agent_guidance: |
  Write requirements that an outsider can test. If the intent leaves a question open, ask instead of inventing an answer.
`,
  ],
  [
    'graph/edges/requirements_design.yml',
    `edge: "requirements→design"
description: "From requirements to a design"

checklist:
  - name: all_reqs_traced_to_components
    type: agent
    criterion: "Every requirement is named by a component that implements it"
    source: default
    required: true
  - name: no_orphan_components
    type: agent
    criterion: "Every component serves a requirement"
    source: default
    required: true
  - name: interfaces_consistent
    type: agent
    criterion: "Each interface offers what its users expect"
    source: default
    required: true
  - name: dependencies_sound
    type: agent
    criterion: "The dependencies between components have no cycles"
    source: default
    required: true
  - name: data_models_present
    type: agent
    criterion: "The stored and the exchanged data are described"
    source: default
    required: true
  - name: ecosystem_compatibility_resolved
    type: agent
    criterion: "Language, runtime and versions are decided and compatible"
    source: default
    required: true
  - name: deployment_target_resolved
    type: agent
    criterion: "The platform on which the system runs is decided"
    source: default
    required: true
  - name: security_model_resolved
    type: agent
    criterion: "Permissions and the protection of data are decided"
    source: default
    required: true
  - name: build_system_resolved
    type: agent
    criterion: "The build system is decided"
    source: default
    required: true
  - name: advisory_dimensions_considered
    type: agent
    criterion: "The optional dimensions are decided, or left open with a reason"
    source: default
    required: false
  - name: adrs_for_decisions
    type: agent
    criterion: "Each decision that would be costly to change is recorded"
    source: default
    required: true
  - name: adr_depth_adequate
    type: agent
    criterion: "Each record states the context, the alternatives and the consequences"
    source: default
    required: true
  - name: architecture_diagrams_present
    type: agent
    criterion: "A diagram shows the components and the data flow between them"
    source: default
    required: true
  - name: human_approves_architecture
    type: human
    criterion: "A person agrees with the architecture"
    source: default
    required: true

agent_guidance: |
  Decide the mandatory dimensions first, because the rest of the design depends on them.
`,
  ],
  [
    'graph/edges/design_code.yml',
    `edge: "design→code"
description: "From the design to source code"

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
    criterion: "The code follows the standards of the project"
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
    criterion: "The linter reports nothing"
    source: default
    required: true
    command: "$tools.linter.command $tools.linter.args"
    pass_criterion: "$tools.linter.pass_criterion"
  - name: type_check
    type: deterministic
    criterion: "The type checker reports no error"
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

agent_guidance: |
  Tag each source file with "Implements: REQ-…".
`,
  ],
  [
    'graph/edges/tdd.yml',
    `edge: "code↔unit_tests"
description: "Code and its unit tests, written together"

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
    criterion: "The linter reports nothing"
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
    criterion: "The type checker reports no error"
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
    criterion: "Every requirement key has a test that names it"
    source: traceability
    required: true
    command: "$tools.test_gaps.command $tools.test_gaps.args"
    pass_criterion: "$tools.test_gaps.pass_criterion"
  - name: all_req_keys_covered
    type: agent
    criterion: "Each requirement of the feature has a test that fails when the requirement is violated"
    source: default
    required: true
  - name: code_quality
    type: agent
    criterion: "The code is simple to read"
    source: default
    required: true
  - name: test_quality
    type: agent
    criterion: "Each test checks one behaviour"
    source: default
    required: true
  - name: test_data_strategy
    type: agent
    criterion: "The origin of the test data is documented"
    source: default
    required: true
  - name: code_req_keys_have_telemetry
    type: agent
    criterion: "The running code reports which requirement it serves"
    source: traceability
    required: false

agent_guidance: |
  Write the failing test first, then the minimal code that passes the test, then refactor.
`,
  ],
  [
    'graph/edges/design_tests.yml',
    `edge: "design→test_cases"
description: "From the design to tests of how components work together"

checklist:
  - name: covers_component_interactions
    type: agent
    criterion: "Each interface of the design has a test"
    source: default
    required: true
  - name: covers_error_paths
    type: agent
    criterion: "The failures of each interface are tested"
    source: default
    required: true
  - name: req_tags_present
    type: agent
    criterion: "Each test names the requirements that it proves"
    source: default
    required: true
  - name: tests_are_independent
    type: agent
    criterion: "The tests pass in any order"
    source: default
    required: true
  - name: all_design_components_covered
    type: agent
    criterion: "Every component of the design has a test"
    source: default
    required: true
  - name: valid_test_syntax
    type: deterministic
    criterion: "Every source file is valid, including the tests"
    source: default
    required: true
    command: "$tools.syntax_checker.command $tools.syntax_checker.args"
    pass_criterion: "$tools.syntax_checker.pass_criterion"
  - name: tests_execute
    type: deterministic
    criterion: "The tests run to completion"
    source: default
    required: true
    command: "$tools.test_runner.command $tools.test_runner.args"
    pass_criterion: "$tools.test_runner.pass_criterion"
  - name: human_approves_coverage
    type: human
    criterion: "A person agrees that the tests cover what matters"
    source: default
    required: true

agent_guidance: |
  Derive the tests from the design only. A test that is derived from the code proves little.
`,
  ],
  [
    'graph/edges/bdd.yml',
    `edge: "design→uat_tests"
description: "From the design to scenarios in the words of the users"

checklist:
  - name: scenarios_cover_all_requirements
    type: agent
    criterion: "Each requirement of the feature has a scenario"
    source: default
    required: true
  - name: business_language_only
    type: agent
    criterion: "No scenario mentions code"
    source: default
    required: true
  - name: given_when_then_structure
    type: agent
    criterion: "Each scenario states what is given, what happens and what follows"
    source: default
    required: true
  - name: req_tags_present
    type: agent
    criterion: "Each scenario names its requirements"
    source: default
    required: true
  - name: positive_and_negative_paths
    type: agent
    criterion: "There are scenarios for valid use and for invalid use"
    source: default
    required: true
  - name: human_approves_language
    type: human
    criterion: "A user of the system understands every scenario"
    source: default
    required: true
  - name: human_approves_coverage
    type: human
    criterion: "A person agrees that the scenarios cover what matters"
    source: default
    required: true

agent_guidance: |
  Write for a reader who has never seen the code.
`,
  ],
  [
    'graph/edges/code_cicd.yml',
    `edge: "code→cicd"
description: "From tested code to a build that can be released"

checklist:
  - name: build_succeeds
    type: deterministic
    criterion: "The project builds from a clean copy"
    source: default
    required: true
    command: "$tools.build.command $tools.build.args"
    pass_criterion: "$tools.build.pass_criterion"
  - name: tests_pass
    type: deterministic
    criterion: "Every test passes on the build"
    source: default
    required: true
    command: "$tools.test_runner.command $tools.test_runner.args"
    pass_criterion: "$tools.test_runner.pass_criterion"
  - name: pipeline_passes
    type: deterministic
    criterion: "The pipeline passes for this state of the code"
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
    criterion: "Every requirement key has a test that names it"
    source: traceability
    required: true
    command: "$tools.test_gaps.command $tools.test_gaps.args"
    pass_criterion: "$tools.test_gaps.pass_criterion"

agent_guidance: |
  Name the commands under tools.build and tools.pipeline of the project constraints.
`,
  ],
  [
    'graph/edges/cicd_running_system.yml',
    `edge: "cicd→running_system"
description: "From a release to a running system"

checklist:
  - name: deployment_succeeds
    type: deterministic
    criterion: "The release is deployed"
    source: default
    required: true
    command: "$tools.deployment.command $tools.deployment.args"
    pass_criterion: "$tools.deployment.pass_criterion"
  - name: health_check_passes
    type: deterministic
    criterion: "The health check of the system succeeds"
    source: default
    required: true
    command: "$tools.health_check.command $tools.health_check.args"
    pass_criterion: "$tools.health_check.pass_criterion"
  - name: rollback_ready
    type: deterministic
    criterion: "A rollback has been tried"
    source: default
    required: false
    command: "$tools.rollback.command $tools.rollback.args"
    pass_criterion: "$tools.rollback.pass_criterion"

agent_guidance: |
  Name the commands under tools.deployment and tools.health_check of the project constraints.
`,
  ],
  [
    'graph/edges/running_system_telemetry.yml',
    `edge: "running_system→telemetry"
description: "From a running system to its telemetry"

checklist:
  - name: telemetry_flows
    type: deterministic
    criterion: "The telemetry of the system arrives"
    source: default
    required: true
    command: "$tools.telemetry_probe.command $tools.telemetry_probe.args"
    pass_criterion: "$tools.telemetry_probe.pass_criterion"
  - name: telemetry_tag_format
    type: deterministic
    criterion: "The telemetry is tagged with the keys of its requirements"
    source: traceability
    required: true
    command: "$tools.telemetry_tags.command $tools.telemetry_tags.args"
    pass_criterion: "$tools.telemetry_tags.pass_criterion"

agent_guidance: |
  Name the command under tools.telemetry_probe of the project constraints.
`,
  ],
  [
    'graph/edges/feedback_loop.yml',
    `edge: "telemetry→intent"
description: "From telemetry to a new intent"

checklist:
  - name: telemetry_tagged_with_req_keys
    type: deterministic
    criterion: "The telemetry is tagged with the keys of its requirements"
    source: default
    required: true
    command: "$tools.telemetry_tags.command $tools.telemetry_tags.args"
    pass_criterion: "$tools.telemetry_tags.pass_criterion"
  - name: deviation_quantified
    type: agent
    criterion: "The report states how far the observed values are from the required values"
    source: default
    required: true
  - name: root_cause_identified
    type: agent
    criterion: "The cause is named, or stated to be unknown"
    source: default
    required: true
  - name: affected_requirements_traced
    type: agent
    criterion: "The affected requirements are named"
    source: default
    required: true
  - name: priority_appropriate
    type: agent
    criterion: "The priority matches the damage"
    source: default
    required: true
  - name: intent_well_formed
    type: agent
    criterion: "The intent has an id, a description and a source"
    source: default
    required: true
  - name: human_warrants_action
    type: human
    criterion: "A person agrees that action is needed"
    source: default
    required: true
  - name: human_confirms_priority
    type: human
    criterion: "A person agrees with the priority"
    source: default
    required: true

agent_guidance: |
  State in the intent what is wrong, not how to fix it.
`,
  ],
  [
    'profiles/full.yml',
    `profile: full
description: "Every edge, with a human check on each: for audited or dangerous systems"

graph:
  include: all

evaluators:
  default: [human, agent, deterministic]
  overrides: {}

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: true
  max_iterations: 7
  stuck_threshold: 3

vector_types: [feature, discovery, spike]
`,
  ],
  [
    'profiles/standard.yml',
    `profile: standard
description: "The usual profile of a feature"

graph:
  include:
    - "intent→requirements"
    - "requirements→design"
    - "design→code"
    - "code↔unit_tests"
  optional:
    - "design→test_cases"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [agent, deterministic]
  overrides:
    "intent→requirements":
      evaluators: [agent, human]
    "requirements→design":
      evaluators: [agent, human]
    "design→uat_tests":
      evaluators: [agent, human]

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: false
  max_iterations: 5
  stuck_threshold: 3

vector_types: [feature, discovery, spike, hotfix]
`,
  ],
  [
    'profiles/poc.yml',
    `profile: poc
description: "A proof of concept: shows whether an idea can work"

graph:
  include:
    - "intent→requirements"
    - "requirements→design"
    - "design→code"
  skip:
    - "code↔unit_tests"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [agent, human]
  overrides:
    "design→code":
      evaluators: [agent]

convergence:
  rule: hypothesis_resolved_or_timeout
  human_required_on_all_edges: false
  max_iterations: 8
  stuck_threshold: 5

iteration:
  time_box:
    duration: "3 weeks"
    check_in: weekly
    on_expiry: fold_back

vector_types: [poc, spike, discovery]
`,
  ],
  [
    'profiles/spike.yml',
    `profile: spike
description: "Assesses a risk or answers a question"

graph:
  include:
    - "intent→requirements"
    - "requirements→design"
    - "design→code"
  skip:
    - "code↔unit_tests"
    - "design→uat_tests"
    - "design→test_cases"
    - "code→cicd"

evaluators:
  default: [agent, human]
  overrides:
    "design→code":
      evaluators: [agent]

convergence:
  rule: question_answered_or_timeout
  human_required_on_all_edges: false
  max_iterations: 10
  stuck_threshold: 5

iteration:
  time_box:
    duration: "1 week"
    check_in: daily
    on_expiry: fold_back

vector_types: [spike, discovery]
`,
  ],
  [
    'profiles/hotfix.yml',
    `profile: hotfix
description: "An urgent repair of a failure in production"

graph:
  include:
    - "intent→requirements"
    - "design→code"
    - "code↔unit_tests"
  skip:
    - "requirements→design"
    - "design→test_cases"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [deterministic, human]
  overrides:
    "intent→requirements":
      evaluators: [human]
    "code↔unit_tests":
      evaluators: [deterministic]

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: false
  max_iterations: 3
  stuck_threshold: 1
  # A person confirms this condition on the last edge.
  additional_condition: production_verified

iteration:
  time_box:
    duration: "4 hours"
    check_in: hourly
    on_expiry: escalate

vector_types: [hotfix]
`,
  ],
  [
    'profiles/minimal.yml',
    `profile: minimal
description: "The fewest edges and checks that still define when work is done"

graph:
  include:
    - "intent→requirements"
    - "design→code"
  skip:
    - "requirements→design"
    - "code↔unit_tests"
    - "design→test_cases"
    - "design→uat_tests"
    - "code→cicd"

evaluators:
  default: [agent]
  overrides: {}

convergence:
  rule: all_required_checks_pass
  human_required_on_all_edges: false
  max_iterations: 5
  stuck_threshold: 3

iteration:
  time_box:
    duration: "10 minutes"
    check_in: none
    on_expiry: accept_best_effort

vector_types: [feature, discovery, spike, poc, hotfix]
`,
  ],
  [
    'agent_roles.yml',
    `# Which roles may converge which edges. People may converge every edge.
roles:
  architect:
    description: "Decides the structure and records the decisions"
    converge_edges: [intent_requirements, requirements_design, design_code]
  tdd_engineer:
    description: "Writes code and its tests together"
    converge_edges: [code_unit_tests, design_test_cases]
  qa_engineer:
    description: "Writes the tests of the whole system"
    converge_edges: [design_test_cases, design_uat_tests, code_unit_tests]
  devops_engineer:
    description: "Builds, releases and operates the system"
    converge_edges: [code_cicd, cicd_running_system]
  observer:
    description: "Watches the running system and reports deviations"
    converge_edges: [running_system_telemetry, telemetry_intent]
  full_stack:
    description: "Does everything: the role of an agent that works alone"
    converge_edges: [all]

authority:
  # Outside the role's edges. escalate: a person decides. reject: the edge does not converge. warn: it converges, and an event records this.
  outside_authority_action: escalate
  # Whether a person must review changes in the folders of the specification and of decisions.
  spec_mutation_requires_human: true
`,
  ],
  [
    'coordination.yml',
    `# single: one agent, without claims and leases. multi: claims decide which agent works on which edge.
coordination:
  mode: multi

parallelism:
  # true: a claim of a feature that shares modules with claimed work is refused. false: it gets a warning.
  enforce: false

claims:
  stale_threshold_seconds: 1800
  claim_ttl_seconds: 3600
  # hold: a stale claim stays with its holder until a person or max_hold_seconds frees it. takeover: any agent may take it over.
  on_ttl: hold
`,
  ],
  [
    'context/project_constraints.yml',
    `# The values of variables in checks, and the decided dimensions. A check whose command is empty is skipped. An edge with a
# skipped required check does not converge, so fill in the commands that the edges of your profile need.
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
  # A share of the code, from 0 to 1.
  test_coverage_minimum: 0.8
  max_function_lines: 50

standards: {}

# A dimension with an empty value is undecided.
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
`,
  ],
]);
