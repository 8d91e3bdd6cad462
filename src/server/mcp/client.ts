import { z } from 'zod';
import type { ApiClient } from '../../client/api-client.js';

/** A holder's proof of its claim. The model passes it with each call, because no protocol session keeps it. */
export const handleSchema = z.strictObject({
  task_id: z.string(),
  generation: z.number(),
  claim_id: z.string(),
  session_id: z.string(),
});
export type McpHandle = z.infer<typeof handleSchema>;

/** The calls that the tools make: to a server, or to the app in this process. */
export type McpClient = Pick<
  ApiClient,
  | 'next'
  | 'claimTask'
  | 'renewLease'
  | 'submitResult'
  | 'releaseClaim'
  | 'note'
  | 'task'
  | 'status'
  | 'explain'
>;
