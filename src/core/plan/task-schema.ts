import { z } from 'zod';
import { SUBTASK_INDEX_MAX } from './task-id.js';

const METADATA_LENGTH_MAX = 8_192;

const description = z.string().min(1).max(2_000);
// The grammar of ids is checked with the plan, where a fault can name the location.
const id = z.string().min(1);
const depends_on = z
  .array(id)
  .max(1_000)
  .refine((ids) => new Set(ids).size === ids.length, { error: 'expected each task at most once' })
  .optional();
export const subtaskInputSchema = z.strictObject({ description, depends_on });

/** A task in its written form: in a plan document, in `PLAN_CHANGED` events and in replies. */
export const taskInputSchema = z.strictObject({
  id,
  description,
  instructions: z.string().max(32_000).optional(),
  /** Absent: the task waits for the previous one in its track. Empty: it waits for nothing. */
  depends_on,
  priority: z.number().int().min(-1_000).max(1_000).optional(),
  modules: z.array(z.string().min(1).max(200)).max(100).optional(),
  subtasks: z
    .union([
      z.number().int().min(1).max(SUBTASK_INDEX_MAX),
      z.array(subtaskInputSchema).min(1).max(SUBTASK_INDEX_MAX),
    ])
    .optional(),
  metadata: z
    .record(z.string(), z.unknown())
    .refine((value) => JSON.stringify(value).length <= METADATA_LENGTH_MAX, {
      error: `expected at most ${METADATA_LENGTH_MAX} characters of JSON`,
    })
    .optional(),
});
export type TaskInput = z.infer<typeof taskInputSchema>;
export type SubtaskInput = z.infer<typeof subtaskInputSchema>;
