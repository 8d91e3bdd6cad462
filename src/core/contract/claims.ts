import { z } from 'zod';
import {
  BATCH_ITEMS_MAX,
  batchClaimBody,
  claimBody,
  itemsBody,
  nextBody,
  releaseBody,
  renewBody,
  resumeBody,
  submitBody,
  suspendBody,
} from './claim-bodies.js';
import { claimResult, gateResult, releaseResult, renewalResult, submissionResult } from './claim-replies.js';
import { type ApiOperations, commandOperation, jsonBody, PROJECT_PATH } from './operation.js';
import { problemDocument } from './problem.js';
import { reviewBody } from './reviews.js';

/** Claiming work, keeping it and submitting its result. */

const CLAIMS_PATH = `${PROJECT_PATH}/claims`;
const RESULTS_PATH = `${PROJECT_PATH}/results`;

/** A call for many commands in one request, each with its own reply. */
const batchOperation = <Item extends z.ZodType>(path: string, summary: string, body: z.ZodType, item: Item) =>
  ({
    method: 'POST',
    path: `${path}/batch`,
    action: 'work',
    summary,
    body: jsonBody(body),
    reply: z.object({ results: z.array(z.union([item, problemDocument])) }),
  }) as const;

const itemsOf = (item: z.ZodType) => itemsBody.extend({ items: z.array(item).max(BATCH_ITEMS_MAX) });

export const claimOperations = {
  claim_task: commandOperation(CLAIMS_PATH, 'Claim a task or an edge', claimBody, claimResult),
  batch_claim: batchOperation(
    CLAIMS_PATH,
    'Claim several tasks, each independently or all or nothing',
    batchClaimBody,
    claimResult,
  ),
  renew_lease: commandOperation(
    `${CLAIMS_PATH}/renew`,
    'Renew the lease of a claim',
    renewBody,
    renewalResult,
  ),
  renew_batch: batchOperation(
    `${CLAIMS_PATH}/renew`,
    'Renew several leases',
    itemsOf(renewBody),
    renewalResult,
  ),
  release_claim: commandOperation(`${CLAIMS_PATH}/release`, 'Release a claim', releaseBody, releaseResult),
  release_batch: batchOperation(
    `${CLAIMS_PATH}/release`,
    'Release several claims',
    itemsOf(releaseBody),
    releaseResult,
  ),
  suspend_claim: commandOperation(
    `${CLAIMS_PATH}/suspend`,
    'Suspend a claim while a person decides',
    suspendBody,
    gateResult,
  ),
  resume_claim: commandOperation(`${CLAIMS_PATH}/resume`, 'Resume a suspended claim', resumeBody, gateResult),
  submit_result: commandOperation(RESULTS_PATH, 'Submit the result of a claim', submitBody, submissionResult),
  submit_batch: batchOperation(RESULTS_PATH, 'Submit several results', itemsOf(submitBody), submissionResult),
  record_review: {
    ...commandOperation(
      `${PROJECT_PATH}/reviews`,
      'Record the decision on work that waits for a person',
      reviewBody,
      gateResult,
    ),
    action: 'review',
  },
  next: commandOperation(
    `${PROJECT_PATH}/next`,
    'Claim the best ready work: a task, or an edge, with its briefing',
    nextBody,
    claimResult,
  ),
} as const satisfies ApiOperations;
