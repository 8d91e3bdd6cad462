import type { FailingCheck } from '../../core/claims/commands.js';
import type { ClaimState, ReleaseReason } from '../../core/claims/head.js';
import type { ConfigFault } from '../../core/methodology/definition/methodology.js';
import type { Role } from '../../core/roles.js';

/** Replies, field by field as in the wire contract. */

export interface GrantedClaim {
  /** The claim id. Present only in replies to the holder. */
  id?: string;
  tenant_id: string;
  project_id: string;
  task_id: string;
  track: string | null;
  sequence: number | null;
  agent_id: string;
  session_id: string;
  generation: number;
  state: ClaimState;
  claimed_at: string;
  lease_duration_seconds: number | null;
  expires_at: string | null;
  work_product_ref: string | null;
  metadata: Readonly<Record<string, unknown>>;
}

export interface ClaimResult {
  success: boolean;
  reason: string;
  claim: GrantedClaim | null;
  current_holder: string | null;
  /** What to do next. Present on every refusal. */
  next?: string;
  stale?: boolean;
  expires_at?: string | null;
  waiting_for?: readonly string[];
  hold_reason?: string;
  retry_at?: string;
  limit?: string;
  /** The shared modules that led to the refusal, and their holders. */
  shared_modules?: readonly string[];
  holders?: readonly SharedHolder[];
  /** Warnings about a granted claim. */
  warnings?: readonly string[];
  briefing?: Briefing;
}
/** An agent that works on the shared modules. */
export interface SharedHolder {
  task_id: string;
  agent_id: string;
  shared_modules: readonly string[];
}
export interface RenewalResult {
  success: boolean;
  reason: string;
  new_expiry: string | null;
  next?: string;
}
export interface ReleaseResult {
  success: boolean;
  reason: string;
  next?: string;
}
export interface AppendResult {
  success: boolean;
  reason: string;
  event_id: string | null;
  next?: string;
}
export interface SubmissionResult {
  accepted: boolean;
  reason: string;
  current_generation: number;
  work_lost: boolean;
  late: boolean;
  work_product_ref: string | null;
  parked: string | null;
  /** The required checks that did not pass. Present with NOT_CONVERGED. */
  failing?: readonly FailingCheck[];
  next?: string;
}
export interface ConfigureResult {
  success: true;
  /** UNCHANGED: the records already match the files, and nothing was written. */
  reason: 'CONFIGURED' | 'UNCHANGED';
  /** Number of changes to the methodology so far. */
  version: number;
  feature_count: number;
  features_changed: number;
  warnings: readonly ConfigFault[];
}
export interface GateResult {
  success: boolean;
  reason: string;
  generation: number;
  until: string | null;
  next?: string;
}
/** A key without its secret, as its tenant sees it. */
export interface ApiKey {
  key_id: string;
  /** Null for an operator's key, which is valid in every tenant. */
  tenant_id: string | null;
  role: Role;
  label: string | null;
  user_id: string | null;
  /** `unbound`: the record is not bound to this store, so the key is invalid here. */
  state: 'active' | 'expired' | 'revoked' | 'unbound';
  /** The last characters of the token, to recognize it. */
  last_four: string;
  created_at: string;
  created_by: string;
  expires_at: string | null;
  revoked_at: string | null;
}
export interface CreatedApiKey extends ApiKey {
  /** Shown only once: null when the request is repeated. */
  token: string | null;
  next?: string;
}
export interface Briefing {
  description: string;
  instructions: string | null;
  dependencies: readonly { task_id: string; work_product_ref: string | null }[];
  notes: readonly { at: string; agent_id: string; generation: number; text: string }[];
  predecessors: readonly {
    generation: number;
    agent_id: string;
    outcome: ReleaseReason | ClaimState;
    parked: string | null;
  }[];
  handle: { task_id: string; generation: number; claim_id: string; session_id: string };
}
