import { toResponse, withProblemDocuments } from '../response.js';
import { type ApiCall, type Handlers, jsonHandlers } from '../route.js';
import { whileAuthorized } from '../while-authorized.js';

type HolderCommand = 'renewLease' | 'releaseClaim' | 'submitResult' | 'suspendClaim' | 'resumeClaim';
type HolderBatch = 'renewBatch' | 'releaseBatch' | 'submitBatch';

const holderHandler =
  (name: HolderCommand) =>
  ({ coordinator, projectKey, body, caller }: ApiCall) =>
    coordinator.holder[name](projectKey, body, caller);

/** Many commands in one request, each with its own reply. */
const holderBatchHandler =
  (name: HolderBatch) =>
  async ({ coordinator, projectKey, body, caller }: ApiCall) =>
    withProblemDocuments(await coordinator.holder[name](projectKey, body, caller), 'results');

export const workHandlers = {
  ...jsonHandlers({
    claim_task: ({ coordinator, projectKey, body, caller }) =>
      coordinator.claims.claimTask(projectKey, body, caller),
    batch_claim: async ({ coordinator, projectKey, body, caller }) =>
      withProblemDocuments(await coordinator.claims.batchClaim(projectKey, body, caller), 'results'),
    renew_lease: holderHandler('renewLease'),
    renew_batch: holderBatchHandler('renewBatch'),
    release_claim: holderHandler('releaseClaim'),
    release_batch: holderBatchHandler('releaseBatch'),
    suspend_claim: holderHandler('suspendClaim'),
    resume_claim: holderHandler('resumeClaim'),
    submit_result: holderHandler('submitResult'),
    submit_batch: holderBatchHandler('submitBatch'),
    record_review: ({ coordinator, projectKey, body, caller }) =>
      coordinator.decisions.recordReview(projectKey, body, caller),
  }),
  next: (call) =>
    whileAuthorized(call, async (endSignal) =>
      toResponse(await call.coordinator.claims.next(call.projectKey, call.body, call.caller, endSignal)),
    ),
} satisfies Partial<Handlers>;
