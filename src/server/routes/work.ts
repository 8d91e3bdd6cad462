import { z } from 'zod';
import type { Caller } from '../../coordinator/authentication/caller.js';
import * as wire from '../../coordinator/wire/index.js';
import type { Problem } from '../../coordinator/wire/problem.js';
import type { ProjectKey } from '../../stores/store.js';
import { toListResponse, toResponse } from '../response.js';
import {
  defineRoute,
  PROJECT_PATH,
  projectKeyOf,
  type RequestContext,
  type Route,
  type ServerContext,
} from '../route.js';
import { problemSchema } from '../schemas/problem.js';
import { claimResult, gateResult, releaseResult, renewalResult, submissionResult } from '../schemas/work.js';
import { whileAuthorized } from '../while-authorized.js';

type CommandHandler<T> = (
  context: ServerContext,
  scope: ProjectKey,
  body: unknown,
  caller: Caller,
) => Promise<T | Problem>;

/** A route whose command is entirely in its body. */
const commandRoute = <T extends object>(
  definition: Pick<Route, 'id' | 'path' | 'summary' | 'reply'> & {
    body: z.ZodType;
    action?: Route['action'];
  },
  run: CommandHandler<T>,
): Route =>
  defineRoute({
    action: 'work',
    ...definition,
    method: 'POST',
    path: `${PROJECT_PATH}${definition.path}`,
    body: { kind: 'json', schema: definition.body },
    isRefusable: true,
    run: async ({ context, params, body, caller }: RequestContext) =>
      toResponse(await run(context, projectKeyOf({ params }), body, caller)),
  });

/** A route for many commands in one request, each with its own reply. */
const batchRoute = (
  definition: Pick<Route, 'id' | 'path' | 'summary'> & { body: z.ZodType; item: z.ZodType },
  run: CommandHandler<{ results: readonly object[] }>,
): Route =>
  defineRoute({
    id: definition.id,
    summary: definition.summary,
    action: 'work',
    method: 'POST',
    path: `${PROJECT_PATH}${definition.path}`,
    body: { kind: 'json', schema: definition.body },
    reply: z.object({ results: z.array(z.union([definition.item, problemSchema])) }),
    run: async ({ context, params, body, caller }: RequestContext) =>
      toListResponse(await run(context, projectKeyOf({ params }), body, caller), 'results'),
  });

const itemsBodyOf = (item: z.ZodType) =>
  wire.itemsBody.extend({ items: z.array(item).max(wire.BATCH_ITEMS_MAX) });

export const workRoutes: readonly Route[] = [
  commandRoute(
    {
      id: 'claim_task',
      path: '/claims',
      summary: 'Claim a task or an edge',
      body: wire.claimBody,
      reply: claimResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.claimTask(scope, body, caller),
  ),
  batchRoute(
    {
      id: 'batch_claim',
      path: '/claims/batch',
      summary: 'Claim many, each on its own or all or nothing',
      body: wire.batchClaimBody,
      item: claimResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.batchClaim(scope, body, caller),
  ),
  commandRoute(
    {
      id: 'renew_lease',
      path: '/claims/renew',
      summary: 'Renew the lease of a claim',
      body: wire.renewBody,
      reply: renewalResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.renewLease(scope, body, caller),
  ),
  batchRoute(
    {
      id: 'renew_batch',
      path: '/claims/renew/batch',
      summary: 'Renew many leases',
      body: itemsBodyOf(wire.renewBody),
      item: renewalResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.renewBatch(scope, body, caller),
  ),
  commandRoute(
    {
      id: 'release_claim',
      path: '/claims/release',
      summary: 'Give a claim back',
      body: wire.releaseBody,
      reply: releaseResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.releaseClaim(scope, body, caller),
  ),
  batchRoute(
    {
      id: 'release_batch',
      path: '/claims/release/batch',
      summary: 'Give many claims back',
      body: itemsBodyOf(wire.releaseBody),
      item: releaseResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.releaseBatch(scope, body, caller),
  ),
  commandRoute(
    {
      id: 'suspend_claim',
      path: '/claims/suspend',
      summary: 'Stop the lease of a claim while a human decides',
      body: wire.suspendBody,
      reply: gateResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.suspendClaim(scope, body, caller),
  ),
  commandRoute(
    {
      id: 'resume_claim',
      path: '/claims/resume',
      summary: 'Go on with a suspended claim',
      body: wire.resumeBody,
      reply: gateResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.resumeClaim(scope, body, caller),
  ),
  commandRoute(
    {
      id: 'submit_result',
      path: '/results',
      summary: 'Submit the result of a claim',
      body: wire.submitBody,
      reply: submissionResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.submitResult(scope, body, caller),
  ),
  batchRoute(
    {
      id: 'submit_batch',
      path: '/results/batch',
      summary: 'Submit many results',
      body: itemsBodyOf(wire.submitBody),
      item: submissionResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.submitBatch(scope, body, caller),
  ),
  commandRoute(
    {
      id: 'record_review',
      path: '/reviews',
      summary: 'Decide on what waits for a human',
      action: 'review',
      body: wire.reviewBody,
      reply: gateResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.recordReview(scope, body, caller),
  ),
  defineRoute({
    id: 'next',
    method: 'POST',
    path: `${PROJECT_PATH}/next`,
    action: 'work',
    summary: 'Claim the best work that is ready, with its briefing',
    body: { kind: 'json', schema: wire.nextBody },
    reply: claimResult,
    isRefusable: true,
    run: (request: RequestContext) =>
      whileAuthorized(request, async (ended) => {
        const { context, body, caller } = request;
        return toResponse(await context.coordinator.next(projectKeyOf(request), body, caller, ended));
      }),
  }),
];
