import { z } from 'zod';

/** A holder's proof of its claim. The model passes it with each call, because no protocol session keeps it. */
export const handleSchema = z.strictObject({
  task_id: z.string(),
  generation: z.number(),
  claim_id: z.string(),
  session_id: z.string(),
});
export type McpHandle = z.infer<typeof handleSchema>;
