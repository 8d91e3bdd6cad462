import { expect, it } from 'vitest';
import { NO_COST } from '../../core/engine/check-outcome.js';
import type { RunStep } from '../../core/engine/runs.js';
import type { EdgeCoordination } from '../coordination.js';
import { RunJournal } from './run-journal.js';

const refuseCall = (): never => {
  throw new Error('a completed step is not recorded again');
};
const coordination: Pick<EdgeCoordination, 'appendEvent' | 'eventsOf'> = {
  appendEvent: refuseCall,
  eventsOf: refuseCall,
};
const AUTHOR = {
  subject: 'REQ-F-A#design_code',
  agent_id: 'a',
  session_id: 's',
  claim_id: 'c',
  generation: 1,
};
const RUN = '0199c1de-0000-7000-8000-000000000001';
const KEY = { step: 'construct_candidate', iteration: 1, input_sha256: 'a'.repeat(64) };
const STEP: RunStep = {
  ...KEY,
  ...{
    attempts: 1,
    status: 'COMPLETED',
    output: { says: 'made' },
    output_ref: null,
    error: null,
    cause: null,
  },
  ...{ started_at: '', ended_at: '', duration_ms: 1, cost: NO_COST },
};

it('the journal has the result of a completed step only for the same step, iteration and input', async () => {
  const earlier = { steps: [STEP], spent: NO_COST };
  const journal = new RunJournal(coordination, { put: refuseCall, get: refuseCall }, AUTHOR, RUN, earlier);
  expect(await journal.resultOf(KEY)).toEqual({ says: 'made' });
  expect(await journal.resultOf({ ...KEY, input_sha256: 'b'.repeat(64) })).toBeUndefined();
  expect(await journal.resultOf({ ...KEY, iteration: 2 })).toBeUndefined();
  expect(await journal.resultOf({ ...KEY, step: 'load_context' })).toBeUndefined();
});
