import { type Handlers, jsonHandlers } from '../route.js';

export const auditHandlers = jsonHandlers({
  audit_head: ({ coordinator, projectKey }) => coordinator.audit.lastCheckpoint(projectKey),
  audit_proof: ({ coordinator, projectKey, query }) => coordinator.audit.proof(projectKey, query.position),
  audit_consistency: ({ coordinator, projectKey, query }) =>
    coordinator.audit.consistency(projectKey, query.from, query.to ?? null),
  audit_keys: ({ coordinator, projectKey }) => coordinator.audit.keys(projectKey),
  audit_replace_key: ({ coordinator, projectKey, body, caller }) =>
    coordinator.audit.replaceKey(projectKey, body, caller),
  verify_log: async ({ coordinator, projectKey, connection }) => {
    const disconnectController = new AbortController();
    const stopListening = connection.onClose(() => disconnectController.abort());
    try {
      return await coordinator.verifications.run(projectKey, disconnectController.signal);
    } finally {
      stopListening();
    }
  },
  audit_revoke_key: ({ coordinator, projectKey, body, caller }) =>
    coordinator.audit.revokeKey(projectKey, body, caller),
}) satisfies Partial<Handlers>;
