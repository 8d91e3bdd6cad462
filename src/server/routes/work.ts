import { toResponse, withProblemDocuments } from '../response.js';
import { type ApiCall, type Handlers, jsonHandlers } from '../route.js';
import { whileAuthorized } from '../while-authorized.js';

type Command = 'claimTask' | 'renewLease' | 'releaseClaim' | 'submitResult';
type ReviewCommand = 'suspendClaim' | 'resumeClaim' | 'recordReview';
type Batch = 'batchClaim' | 'renewBatch' | 'releaseBatch' | 'submitBatch';

/** Handles a command that is entirely in its body. */
const command =
  (name: Command | ReviewCommand) =>
  ({ coordinator, project, body, caller }: ApiCall) =>
    coordinator[name](project, body, caller);

/** Handles many commands in one request, each with its own reply. */
const batch =
  (name: Batch) =>
  async ({ coordinator, project, body, caller }: ApiCall) =>
    withProblemDocuments(await coordinator[name](project, body, caller), 'results');

export const workHandlers = {
  ...jsonHandlers({
    claim_task: command('claimTask'),
    batch_claim: batch('batchClaim'),
    renew_lease: command('renewLease'),
    renew_batch: batch('renewBatch'),
    release_claim: command('releaseClaim'),
    release_batch: batch('releaseBatch'),
    suspend_claim: command('suspendClaim'),
    resume_claim: command('resumeClaim'),
    submit_result: command('submitResult'),
    submit_batch: batch('submitBatch'),
    record_review: command('recordReview'),
  }),
  next: (call) =>
    whileAuthorized(call, async (ended) =>
      toResponse(await call.coordinator.next(call.project, call.body, call.caller, ended)),
    ),
} satisfies Partial<Handlers>;
