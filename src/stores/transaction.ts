import type { ProjectKey, Transaction } from './store.js';

/** Returns a transaction with the given parts; everything else is empty or null. */
export function transactionOf(projectKey: ProjectKey, parts: Partial<Transaction>): Transaction {
  return {
    tenant_id: projectKey.tenant_id,
    project_id: projectKey.project_id,
    swaps: [],
    checks: [],
    rules_seq: null,
    changes_rules: false,
    requests: [],
    loose_events: [],
    permits: [],
    permit_limits: [],
    not_before_ms: null,
    not_after_ms: null,
    ...parts,
  };
}
