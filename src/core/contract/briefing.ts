import { z } from 'zod';
import { CLAIM_STATES, RELEASE_REASONS } from '../claims/head.js';
import { effectiveCheck, failingCheck } from './checks.js';
import { reviewEntry } from './reviews.js';
import { count, namedObject, type ReplyOf, time } from './schema.js';

const note = z.object({ at: time, agent_id: z.string(), generation: count, text: z.string() });
/** What the holder of a claim needs to know to begin. */
export const briefing = namedObject('Briefing', {
  description: z.string(),
  instructions: z.string().nullable(),
  dependencies: z.array(
    z.object({
      task_id: z.string(),
      work_product_ref: z.string().nullable(),
      result: z.unknown().optional().describe('the accepted result, if it is small'),
      read: z.string().describe('the call that reads the result, if it is larger').exactOptional(),
      notes: z.array(note).exactOptional(),
    }),
  ),
  notes: z.array(note),
  predecessors: z.array(
    z.object({
      generation: count,
      agent_id: z.string(),
      outcome: z.enum([...RELEASE_REASONS, ...CLAIM_STATES]),
      parked: z.string().nullable(),
      message: z.string().describe('why the attempt failed').exactOptional(),
    }),
  ),
  checks: z.array(effectiveCheck).describe('checks that the result of an edge must pass').exactOptional(),
  failed: z.array(failingCheck).describe('checks that the last iteration failed').exactOptional(),
  review: reviewEntry.describe('the last review, if it did not approve').exactOptional(),
  handle: z.object({
    task_id: z.string(),
    generation: count,
    claim_id: z.string(),
    session_id: z.string(),
  }),
});

export type Briefing = ReplyOf<typeof briefing>;
