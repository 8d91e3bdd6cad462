import type { ApiProblem } from '../../client/replies.js';
import type { GrantedClaim } from '../../core/contract/claim-records.js';
import type { DraftGrant } from '../../workspace/drafts/draft-grant.js';
import type { DraftRefusal } from '../../workspace/drafts/refusal.js';

/** The result fields of a submission. */
type DraftResult = { readonly result_data: unknown } | { readonly blob_sha256: string };

/** Draft folders on the machine where the agent works. Only a server that runs there has them. */
export interface McpDrafts {
  /** The folder where the agent writes, relative to the project's root; null if the claim has none. */
  readonly prepare: (claim: GrantedClaim) => Promise<string | null>;
  /** Stores the bytes of the drafts, and returns the result that names them. */
  readonly collect: (grant: DraftGrant) => Promise<DraftResult | DraftRefusal | ApiProblem>;
  /** Removes the folder that `prepare` created (a git worktree), after the result was accepted. */
  readonly remove: (grant: DraftGrant) => Promise<void>;
}
