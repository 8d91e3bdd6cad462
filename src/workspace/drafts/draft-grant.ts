import type { GrantedClaim } from '../../core/contract/claim-records.js';

/** The grant of an edge, which identifies its drafts. */
export type DraftGrant = Pick<GrantedClaim, 'agent_id' | 'task_id' | 'generation'>;
