import { toResponse, withProblemDocuments } from '../response.js';
import { type ApiCall, type Handlers, jsonHandlers } from '../route.js';
import { whileAuthorized } from '../while-authorized.js';

type HolderCommand = 'renewLease' | 'releaseClaim' | 'submitResult' | 'suspendClaim' | 'resumeClaim';
type HolderBatch = 'renewBatch' | 'releaseBatch' | 'submitBatch';

const holderHandler =
  (name: HolderCommand) =>
  ({ coordinator, project, body, caller }: ApiCall) =>
    coordinator.holder[name](project, body, caller);

/** Many commands in one request, each with its own reply. */
const holderBatchHandler =
  (name: HolderBatch) =>
  async ({ coordinator, project, body, caller }: ApiCall) =>
    withProblemDocuments(await coordinator.holder[name](project, body, caller), 'results');

export const workHandlers = {
  ...jsonHandlers({
    claim_task: ({ coordinator, project, body, caller }) =>
      coordinator.claims.claimTask(project, body, caller),
    batch_claim: async ({ coordinator, project, body, caller }) =>
      withProblemDocuments(await coordinator.claims.batchClaim(project, body, caller), 'results'),
    renew_lease: holderHandler('renewLease'),
    renew_batch: holderBatchHandler('renewBatch'),
    release_claim: holderHandler('releaseClaim'),
    release_batch: holderBatchHandler('releaseBatch'),
    suspend_claim: holderHandler('suspendClaim'),
    resume_claim: holderHandler('resumeClaim'),
    submit_result: holderHandler('submitResult'),
    submit_batch: holderBatchHandler('submitBatch'),
    record_review: ({ coordinator, project, body, caller }) =>
      coordinator.decisions.recordReview(project, body, caller),
  }),
  next: (call) =>
    whileAuthorized(call, async (endSignal) =>
      toResponse(await call.coordinator.claims.next(call.project, call.body, call.caller, endSignal)),
    ),
} satisfies Partial<Handlers>;
