import type { Rules } from '../claims/policy.js';

/** Which project is looked at, when, and under which rules: a lease is only ever running or over at a time. */
export interface FoldContext {
  readonly key: { readonly tenant_id: string; readonly project_id: string };
  readonly now_ms: number;
  rulesOf(subject: string): Rules;
}
