import type { ProjectKey, Unit } from './store.js';

/** A unit that does nothing but what is said of it. */
export function unitOf(project: ProjectKey, parts: Partial<Unit>): Unit {
  return {
    tenant_id: project.tenant_id,
    project_id: project.project_id,
    swaps: [],
    checks: [],
    rules_seq: null,
    changes_rules: false,
    requests: [],
    notes: [],
    slots: [],
    rooms: [],
    not_before_ms: null,
    not_after_ms: null,
    ...parts,
  };
}
