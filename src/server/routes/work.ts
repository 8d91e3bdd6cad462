import type { Caller } from '../../coordinator/authentication/caller.js';
import type { Coordinator } from '../../coordinator/coordinator.js';
import type { Problem } from '../../coordinator/wire/problem.js';
import type { ProjectKey } from '../../stores/store.js';
import { toListResponse, toResponse } from '../response.js';
import { type Handlers, projectKeyOf, type RequestContext } from '../route.js';
import { whileAuthorized } from '../while-authorized.js';

type Command<T> = (
  coordinator: Coordinator,
  scope: ProjectKey,
  body: unknown,
  caller: Caller,
) => Promise<T | Problem>;

/** Handles a command that is entirely in its body. */
const command =
  (run: Command<object>) =>
  async ({ context, params, body, caller }: RequestContext) =>
    toResponse(await run(context.coordinator, projectKeyOf({ params }), body, caller));

/** Handles many commands in one request, each with its own reply. */
const batch =
  (run: Command<{ results: readonly object[] }>) =>
  async ({ context, params, body, caller }: RequestContext) =>
    toListResponse(await run(context.coordinator, projectKeyOf({ params }), body, caller), 'results');

export const workHandlers = {
  claim_task: command((coordinator, ...request) => coordinator.claimTask(...request)),
  batch_claim: batch((coordinator, ...request) => coordinator.batchClaim(...request)),
  renew_lease: command((coordinator, ...request) => coordinator.renewLease(...request)),
  renew_batch: batch((coordinator, ...request) => coordinator.renewBatch(...request)),
  release_claim: command((coordinator, ...request) => coordinator.releaseClaim(...request)),
  release_batch: batch((coordinator, ...request) => coordinator.releaseBatch(...request)),
  suspend_claim: command((coordinator, ...request) => coordinator.suspendClaim(...request)),
  resume_claim: command((coordinator, ...request) => coordinator.resumeClaim(...request)),
  submit_result: command((coordinator, ...request) => coordinator.submitResult(...request)),
  submit_batch: batch((coordinator, ...request) => coordinator.submitBatch(...request)),
  record_review: command((coordinator, ...request) => coordinator.recordReview(...request)),
  next: (request) =>
    whileAuthorized(request, async (ended) => {
      const { context, body, caller } = request;
      return toResponse(await context.coordinator.next(projectKeyOf(request), body, caller, ended));
    }),
} satisfies Partial<Handlers>;
