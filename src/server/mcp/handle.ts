import { z } from 'zod';
import { readStrictJson } from '../../core/strict-json.js';

/** A holder's proof of its claim. The model passes it with each call, because no protocol session keeps it. */
const handleSchema = z.strictObject(
  {
    task_id: z.string(),
    generation: z.number(),
    claim_id: z.string(),
    session_id: z.string(),
  },
  { error: ({ code }) => (code === 'invalid_type' ? HANDLE_ADVICE : undefined) },
);
const HANDLE_ADVICE =
  'expected the object "handle" of the reply that granted the task, unchanged: {"task_id": …, "generation": …, "claim_id": …, "session_id": …}';
export type McpHandle = z.infer<typeof handleSchema>;

/**
 * A handle as an argument. Some models pass an object as a JSON string: such a string is accepted if it contains
 * exactly a handle.
 */
export const handleArgument = z
  .preprocess(
    (argument) => (typeof argument === 'string' ? (parseObject(argument) ?? argument) : argument),
    handleSchema,
  )
  .describe('As returned by the grant');

function parseObject(text: string): object | null {
  const parsed = readStrictJson(text);
  return 'value' in parsed && typeof parsed.value === 'object' ? parsed.value : null;
}
