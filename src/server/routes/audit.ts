import { type Handlers, jsonHandlers } from '../route.js';

export const auditHandlers = jsonHandlers({
  audit_head: ({ coordinator, project }) => coordinator.audit.head(project),
  audit_proof: ({ coordinator, project, query }) => coordinator.audit.proof(project, query.position),
  audit_consistency: ({ coordinator, project, query }) =>
    coordinator.audit.consistency(project, query.from, query.to ?? null),
  audit_keys: ({ coordinator, project }) => coordinator.audit.keys(project),
  audit_replace_key: ({ coordinator, project, body, caller }) =>
    coordinator.audit.replaceKey(project, body, caller),
  verify_log: async ({ coordinator, project, connection }) => {
    const disconnected = new AbortController();
    const stopListening = connection.onClose(() => disconnected.abort());
    try {
      return await coordinator.verifications.run(project, disconnected.signal);
    } finally {
      stopListening();
    }
  },
  audit_revoke_key: ({ coordinator, project, body, caller }) =>
    coordinator.audit.revokeKey(project, body, caller),
}) satisfies Partial<Handlers>;
