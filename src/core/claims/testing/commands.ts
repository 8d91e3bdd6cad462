import type {
  AdoptCommand,
  ClaimCommand,
  ClaimFacts,
  Handle,
  PastGrant,
  ReassignCommand,
  ReleaseCommand,
  RenewCommand,
  ResumeCommand,
  ReviewCommand,
  SubmitCommand,
  SubmitFacts,
  SuspendCommand,
} from '../commands.js';
import type { SubmittedResult } from '../head.js';
import { claimIdOf, requestOf, TASK, type Worker } from './given.js';

/** Commands as a well-behaved caller sends them; a test overrides what it is about. */
export const handleOf = (worker: Worker, generation: number): Handle => ({
  generation,
  session_id: worker.session_id,
  claim_id: claimIdOf({ generation, request_id: requestOf(worker) }),
});

export const READY: ClaimFacts = {
  known: true,
  session_closed: false,
  waiting_for: [],
  inputs: null,
  full: null,
};

export const claim = (
  worker: Worker,
  fields: Partial<ClaimCommand> = {},
  facts: Partial<ClaimFacts> = {},
): ClaimCommand => ({
  type: 'claim',
  ...worker,
  user_id: null,
  lease_seconds: 300,
  request_id: requestOf(worker),
  metadata: null,
  ...fields,
  facts: { ...READY, ...facts },
});

export const renew = (
  worker: Worker,
  generation: number,
  lease_seconds: number | null = null,
): RenewCommand => ({
  type: 'renew',
  handle: handleOf(worker, generation),
  lease_seconds,
});

export const release = (
  worker: Worker,
  generation: number,
  reason: ReleaseCommand['reason'] = 'VOLUNTARY',
  message: string | null = null,
): ReleaseCommand => ({ type: 'release', handle: handleOf(worker, generation), reason, message });

export const result = (sha256 = 'aa11', generation = 1, subject = TASK): SubmittedResult => ({
  result_id: `result-${sha256}`,
  sha256,
  size_bytes: 10,
  work_product_ref: `wp-${subject}-gen${generation}-${sha256}`,
});

export const FREE: SubmitFacts = {
  inputs: null,
  past_grant: null,
  authority: 'granted',
  iteration: 1,
  parking_full: false,
  no_room: false,
};

export const submit = (
  worker: Worker,
  generation: number,
  fields: Partial<SubmitCommand> = {},
  facts: Partial<SubmitFacts> = {},
): SubmitCommand => ({
  type: 'submit',
  handle: handleOf(worker, generation),
  result: result('aa11', generation),
  ...fields,
  facts: { ...FREE, ...facts },
});

export const pastGrant = (worker: Worker, generation: number): PastGrant => ({
  ...worker,
  generation,
  request_id: requestOf(worker),
});

export const suspend = (
  worker: Worker,
  generation: number,
  gate: SuspendCommand['gate'] = null,
): SuspendCommand => ({ type: 'suspend', handle: handleOf(worker, generation), gate });

export const resume = (worker: Worker, generation: number): ResumeCommand => ({
  type: 'resume',
  handle: handleOf(worker, generation),
});

export const review = (generation: number, fields: Partial<ReviewCommand> = {}): ReviewCommand => ({
  type: 'record_review',
  generation,
  iteration: 1,
  candidate_sha256: 'aa11',
  decision: 'APPROVED',
  reviewer: 'hana',
  comment: null,
  inputs: null,
  ...fields,
});

/** The human of these tests, who saw this generation. */
export const seen = (expected_generation: number, reason = 'because') => ({
  expected_generation,
  reason,
  by: 'hana',
});

export const reassign = (
  expected_generation: number,
  worker: Worker,
  fields: Partial<ClaimCommand> = {},
  facts: Partial<ClaimFacts> = {},
): ReassignCommand => {
  const { type: _, ...to } = claim(worker, fields, facts);
  return { type: 'reassign', ...seen(expected_generation), to };
};

export const adopt = (expected_generation: number, parked: AdoptCommand['parked']): AdoptCommand => ({
  type: 'adopt',
  ...seen(expected_generation),
  session_id: 's-hana',
  request_id: 'request-of-hana',
  parked,
});
