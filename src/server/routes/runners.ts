import { type Handlers, jsonHandlers } from '../route.js';

/** Runners, candidates and evidence. */
export const runnerHandlers = jsonHandlers({
  enrol_runner: ({ coordinator, projectKey, body, caller }) =>
    coordinator.evidence.enrolRunner(projectKey, body, caller),
  list_runners: ({ coordinator, projectKey }) => coordinator.evidence.listRunners(projectKey),
  revoke_runner: (call) =>
    call.coordinator.evidence.revokeRunner(call.projectKey, call.param('runner_id'), call.caller),
  propose_candidate: ({ coordinator, projectKey, body, caller }) =>
    coordinator.evidence.propose(projectKey, body, caller),
  list_candidates: ({ coordinator, projectKey, query }) =>
    coordinator.evidence.listCandidates(projectKey, query),
  record_evidence: ({ coordinator, projectKey, body, caller }) =>
    coordinator.evidence.record(projectKey, body, caller),
}) satisfies Partial<Handlers>;
