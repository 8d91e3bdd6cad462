import { type Handlers, jsonHandlers } from '../route.js';

/** Runners, candidates and evidence. */
export const runnerHandlers = jsonHandlers({
  enrol_runner: ({ coordinator, project, body, caller }) =>
    coordinator.evidence.enrolRunner(project, body, caller),
  list_runners: ({ coordinator, project }) => coordinator.evidence.listRunners(project),
  revoke_runner: (call) =>
    call.coordinator.evidence.revokeRunner(call.project, call.param('runner_id'), call.caller),
  propose_candidate: ({ coordinator, project, body, caller }) =>
    coordinator.evidence.propose(project, body, caller),
  list_candidates: ({ coordinator, project, query }) => coordinator.evidence.listCandidates(project, query),
  record_evidence: ({ coordinator, project, body, caller }) =>
    coordinator.evidence.record(project, body, caller),
}) satisfies Partial<Handlers>;
