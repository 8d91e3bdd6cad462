import { z } from 'zod';
import { ALL_FILES_LENGTH_MAX } from '../methodology/definition/read/file-kinds.js';
import { checkpointBody, checkpointReply } from './checkpoints.js';
import { gateResult } from './claim-replies.js';
import { configureBody, configureResult } from './configuration.js';
import { gapsBody, gapsFoundReply, gapsReply } from './gaps.js';
import { type Action, type ApiOperations, jsonBody, withProject } from './operation.js';
import { decideProposalBody, planResult } from './plan.js';
import { createdReviewLink, decideReviewBody, reviewLinkBody, reviewsReply } from './reviews.js';
import { atQuery } from './schema.js';
import { foldBackBody, foldBackReply, spawnBody, spawnReply } from './spawns.js';
import { startBody, startReply } from './start.js';
import { versionReleaseBody, versionReleaseReply } from './version-releases.js';

/** A call whose body names the project; the tenant is the credential's. The coordinator validates the other fields. */
const methodologyCommand = <Shape extends z.core.$ZodShape, Reply extends z.ZodType, Needed extends Action>(
  path: string,
  action: Needed,
  summary: string,
  body: z.ZodObject<Shape>,
  reply: Reply,
) =>
  ({
    method: 'POST',
    path,
    tenant: 'own',
    action,
    summary,
    body: jsonBody(withProject(body)),
    reply,
  }) as const;

/** A read whose query names the project. */
export const methodologyView = <Shape extends z.core.$ZodShape, Reply extends z.ZodType>(
  path: string,
  summary: string,
  query: z.ZodObject<Shape>,
  reply: Reply,
) =>
  ({
    method: 'GET',
    path,
    tenant: 'own',
    action: 'read',
    summary,
    query: withProject(query),
    reply,
  }) as const;

export const methodologyOperations = {
  init: {
    method: 'POST',
    path: '/api/init',
    tenant: 'own',
    action: 'operate',
    summary:
      'Configure the methodology of the project from workspace files; without files, the built-in defaults apply',
    body: {
      kind: 'json',
      schema: withProject(configureBody.partial({ files: true })),
      // Twice the limit of the files, for JSON escapes and multi-byte characters.
      bytes_max: 2 * ALL_FILES_LENGTH_MAX,
      is_document: true,
    },
    reply: configureResult,
  },
  start: methodologyCommand(
    '/api/start',
    'read',
    'Recommend the next edge, with the reasons; writes nothing and claims nothing',
    startBody,
    startReply,
  ),
  spawn: {
    ...methodologyCommand(
      '/api/spawn',
      'work',
      'Spawn a feature for a question, a risk or an incident; the named edge waits for it',
      spawnBody,
      spawnReply,
    ),
    isRefusable: true,
  },
  fold_back: {
    ...methodologyCommand(
      '/api/spawn/fold_back',
      'work',
      'Fold the result of a spawn back into its parent, once',
      foldBackBody,
      foldBackReply,
    ),
    isRefusable: true,
  },
  checkpoint: {
    ...methodologyCommand(
      '/api/checkpoint',
      'work',
      'Record a checkpoint of the log; returns the state of the project at its position',
      checkpointBody,
      checkpointReply,
    ),
    isRefusable: true,
  },
  decide_review: {
    ...methodologyCommand(
      '/api/review',
      'review',
      'Review a candidate, identified by its generation, iteration and digest',
      decideReviewBody,
      gateResult,
    ),
    isRefusable: true,
  },
  create_review_link: methodologyCommand(
    '/api/review/link',
    'review',
    'Make a signed link with which one person decides on the candidate that waits now',
    reviewLinkBody,
    createdReviewLink,
  ),
  decide_proposal: methodologyCommand(
    '/api/review/proposal',
    'review',
    'Add the tasks that an agent proposed to the plan, or reject them',
    decideProposalBody,
    planResult,
  ),
  validate_gaps: methodologyCommand(
    '/api/gaps',
    'work',
    'Report which requirements are covered; each gap raises an intent once',
    gapsBody,
    gapsReply,
  ),
  release: {
    ...methodologyCommand(
      '/api/release',
      'operate',
      'Release a version if nothing blocks it; with dry_run, only report what blocks it',
      versionReleaseBody,
      versionReleaseReply,
    ),
    isRefusable: true,
  },
  pending_reviews: methodologyView(
    '/api/review',
    'List pending reviews and proposed tasks, with the fields that a decision must name',
    z.object({}),
    reviewsReply,
  ),
  known_gaps: methodologyView(
    '/api/gaps',
    'Get the gaps of the last report; searches and writes nothing',
    atQuery,
    gapsFoundReply,
  ),
} as const satisfies ApiOperations;
