import type { Rules } from '../claims/policy.js';

/** The project, time and rules of a view: whether a lease has run out depends on the time. */
export interface FoldContext {
  readonly key: { readonly tenant_id: string; readonly project_id: string };
  readonly now_ms: number;
  rulesOf(subject: string): Rules;
}
