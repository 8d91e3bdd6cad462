import type { ClaimFacts, ClaimHandle, PastGrant, SubjectCommand, SubmitFacts } from '../commands.js';
import type { SubmittedResult } from '../head.js';
import { claimIdOf, requestOf, TASK, type TestAgent } from './given.js';

/** Handle of an agent's grant. The functions below build valid commands; a test overrides the fields that matter to it. */
export const testHandleOf = (worker: TestAgent, generation: number): ClaimHandle => ({
  generation,
  session_id: worker.session_id,
  claim_id: claimIdOf({ generation, request_id: requestOf(worker) }),
});

const READY_FACTS: ClaimFacts = {
  is_known_subject: true,
  is_session_closed: false,
  waiting_for: [],
  inputs: null,
  reached_limit: null,
};

export const claim = (
  worker: TestAgent,
  fields: Partial<SubjectCommand<'claim'>> = {},
  facts: Partial<ClaimFacts> = {},
): SubjectCommand<'claim'> => ({
  type: 'claim',
  ...worker,
  user_id: null,
  lease_seconds: 300,
  request_id: requestOf(worker),
  metadata: null,
  ...fields,
  facts: { ...READY_FACTS, ...facts },
});

export const renew = (
  worker: TestAgent,
  generation: number,
  lease_seconds: number | null = null,
): SubjectCommand<'renew'> => ({
  type: 'renew',
  handle: testHandleOf(worker, generation),
  lease_seconds,
});

export const release = (
  worker: TestAgent,
  generation: number,
  reason: SubjectCommand<'release'>['reason'] = 'VOLUNTARY',
  message: string | null = null,
): SubjectCommand<'release'> => ({
  type: 'release',
  handle: testHandleOf(worker, generation),
  reason,
  message,
});

export const result = (sha256 = 'aa11', generation = 1, subject = TASK): SubmittedResult => ({
  result_id: `result-${sha256}`,
  sha256,
  size_bytes: 10,
  work_product_ref: `wp-${subject}-gen${generation}-${sha256}`,
});

const UNRESTRICTED_FACTS: SubmitFacts = {
  inputs: null,
  past_grant: null,
  authority: 'granted',
  iteration: 1,
  is_parking_full: false,
  is_permit_limit_reached: false,
};

export const submit = (
  worker: TestAgent,
  generation: number,
  fields: Partial<SubjectCommand<'submit'>> = {},
  facts: Partial<SubmitFacts> = {},
): SubjectCommand<'submit'> => ({
  type: 'submit',
  handle: testHandleOf(worker, generation),
  result: result('aa11', generation),
  sender: 'open',
  ...fields,
  facts: { ...UNRESTRICTED_FACTS, ...facts },
});

export const testGrant = (worker: TestAgent, generation: number): PastGrant => ({
  ...worker,
  generation,
  request_id: requestOf(worker),
  claimed_at_ms: 0,
});

export const suspend = (
  worker: TestAgent,
  generation: number,
  gate: SubjectCommand<'suspend'>['gate'] = null,
): SubjectCommand<'suspend'> => ({ type: 'suspend', handle: testHandleOf(worker, generation), gate });

export const resume = (worker: TestAgent, generation: number): SubjectCommand<'resume'> => ({
  type: 'resume',
  handle: testHandleOf(worker, generation),
});

export const review = (
  generation: number,
  fields: Partial<SubjectCommand<'record_review'>> = {},
): SubjectCommand<'record_review'> => ({
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

/** Operator fields of a person who saw this generation. */
export const operatorFields = (expected_generation: number, reason = 'because') => ({
  expected_generation,
  reason,
  by: 'hana',
});

export const reassign = (
  expectedGeneration: number,
  worker: TestAgent,
  fields: Partial<SubjectCommand<'claim'>> = {},
  facts: Partial<ClaimFacts> = {},
): SubjectCommand<'reassign'> => {
  const { type: _, ...to } = claim(worker, fields, facts);
  return { type: 'reassign', ...operatorFields(expectedGeneration), to };
};

export const adopt = (
  expectedGeneration: number,
  adopted: SubjectCommand<'adopt'>['adopted'],
): SubjectCommand<'adopt'> => ({
  type: 'adopt',
  ...operatorFields(expectedGeneration),
  session_id: 's-hana',
  request_id: 'request-of-hana',
  adopted,
});
