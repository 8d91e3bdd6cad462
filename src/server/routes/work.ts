import { z } from 'zod';
import type { Caller } from '../../coordinator/caller.js';
import type { Problem } from '../../coordinator/problem.js';
import * as wire from '../../coordinator/wire.js';
import type { ProjectKey } from '../../stores/store.js';
import { answer, listAnswer } from '../answer.js';
import { whileAuthorized } from '../gone.js';
import { type Ask, type House, PROJECT, type Route, route, scopeOf } from '../route.js';
import { problemDocument } from '../schemas/problem.js';
import { claimResult, gateResult, releaseResult, renewalResult, submissionResult } from '../schemas/work.js';

type Command<T> = (house: House, scope: ProjectKey, body: unknown, caller: Caller) => Promise<T | Problem>;

/** A command that is all in its body. */
const command = <T extends object>(
  about: Pick<Route, 'id' | 'path' | 'summary' | 'reply'> & { body: z.ZodType; action?: Route['action'] },
  run: Command<T>,
): Route =>
  route({
    action: 'work',
    ...about,
    method: 'POST',
    path: `${PROJECT}${about.path}`,
    body: { kind: 'json', schema: about.body },
    decides: true,
    run: async ({ house, params, body, caller }: Ask) =>
      answer(await run(house, scopeOf({ params }), body, caller)),
  });

/** Many commands in one request, each answered on its own. */
const batch = (
  about: Pick<Route, 'id' | 'path' | 'summary'> & { body: z.ZodType; item: z.ZodType },
  run: Command<{ results: readonly object[] }>,
): Route =>
  route({
    id: about.id,
    summary: about.summary,
    action: 'work',
    method: 'POST',
    path: `${PROJECT}${about.path}`,
    body: { kind: 'json', schema: about.body },
    reply: z.object({ results: z.array(z.union([about.item, problemDocument])) }),
    run: async ({ house, params, body, caller }: Ask) =>
      listAnswer(await run(house, scopeOf({ params }), body, caller), 'results'),
  });

const itemsOf = (item: z.ZodType) =>
  wire.itemsBody.extend({ items: z.array(item).max(wire.BATCH_ITEMS_MAX) });

export const workRoutes: readonly Route[] = [
  command(
    {
      id: 'claim_task',
      path: '/claims',
      summary: 'Claim a task or an edge',
      body: wire.claimBody,
      reply: claimResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.claimTask(scope, body, caller),
  ),
  batch(
    {
      id: 'batch_claim',
      path: '/claims/batch',
      summary: 'Claim many, each on its own or all or nothing',
      body: wire.batchClaimBody,
      item: claimResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.batchClaim(scope, body, caller),
  ),
  command(
    {
      id: 'renew_lease',
      path: '/claims/renew',
      summary: 'Renew the lease of a claim',
      body: wire.renewBody,
      reply: renewalResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.renewLease(scope, body, caller),
  ),
  batch(
    {
      id: 'renew_batch',
      path: '/claims/renew/batch',
      summary: 'Renew many leases',
      body: itemsOf(wire.renewBody),
      item: renewalResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.renewBatch(scope, body, caller),
  ),
  command(
    {
      id: 'release_claim',
      path: '/claims/release',
      summary: 'Give a claim back',
      body: wire.releaseBody,
      reply: releaseResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.releaseClaim(scope, body, caller),
  ),
  batch(
    {
      id: 'release_batch',
      path: '/claims/release/batch',
      summary: 'Give many claims back',
      body: itemsOf(wire.releaseBody),
      item: releaseResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.releaseBatch(scope, body, caller),
  ),
  command(
    {
      id: 'suspend_claim',
      path: '/claims/suspend',
      summary: 'Stop the lease of a claim while a human decides',
      body: wire.suspendBody,
      reply: gateResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.suspendClaim(scope, body, caller),
  ),
  command(
    {
      id: 'resume_claim',
      path: '/claims/resume',
      summary: 'Go on with a suspended claim',
      body: wire.resumeBody,
      reply: gateResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.resumeClaim(scope, body, caller),
  ),
  command(
    {
      id: 'submit_result',
      path: '/results',
      summary: 'Submit the result of a claim',
      body: wire.submitBody,
      reply: submissionResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.submitResult(scope, body, caller),
  ),
  batch(
    {
      id: 'submit_batch',
      path: '/results/batch',
      summary: 'Submit many results',
      body: itemsOf(wire.submitBody),
      item: submissionResult,
    },
    ({ coordinator }, scope, body, caller) => coordinator.submitBatch(scope, body, caller),
  ),
  command(
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
  route({
    id: 'next',
    method: 'POST',
    path: `${PROJECT}/next`,
    action: 'work',
    summary: 'Claim the best work that is ready, with its briefing',
    body: { kind: 'json', schema: wire.nextBody },
    reply: claimResult,
    decides: true,
    run: (ask: Ask) =>
      whileAuthorized(ask, async (ended) => {
        const { house, body, caller } = ask;
        return answer(await house.coordinator.next(scopeOf(ask), body, caller, ended));
      }),
  }),
];
