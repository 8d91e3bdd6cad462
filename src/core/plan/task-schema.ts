import { z } from 'zod';
import { SUBTASK_INDEX_MAX, TASK_ID_LENGTH_MAX, TASK_ID_PATTERN, taskIdFault } from './task-id.js';

export const DESCRIPTION_LENGTH_MAX = 2_000;
export const INSTRUCTIONS_LENGTH_MAX = 32_000;
export const DEPENDENCIES_MAX = 1_000;
export const MODULES_MAX = 100;
export const MODULE_LENGTH_MAX = 200;
export const PRIORITY_MAX = 1_000;
export const METADATA_LENGTH_MAX = 8_192;

const description = z.string().min(1).max(DESCRIPTION_LENGTH_MAX);
// The grammar of ids is checked with the plan, where a fault can name the location.
const id = z.string().min(1);
const depends_on = z
  .array(id)
  .max(DEPENDENCIES_MAX)
  .refine((ids) => new Set(ids).size === ids.length, { error: 'it names a task twice' })
  .optional();
export const subtaskInputSchema = z.strictObject({ description, depends_on });

/** A task as written in a plan, carried by `PLAN_CHANGED` and rendered. */
export const taskInputSchema = z.strictObject({
  id,
  description,
  instructions: z.string().max(INSTRUCTIONS_LENGTH_MAX).optional(),
  /** Absent: the task waits for the previous one in its track. Empty: it waits for nothing. */
  depends_on,
  priority: z.number().int().min(-PRIORITY_MAX).max(PRIORITY_MAX).optional(),
  modules: z.array(z.string().min(1).max(MODULE_LENGTH_MAX)).max(MODULES_MAX).optional(),
  subtasks: z
    .union([
      z.number().int().min(1).max(SUBTASK_INDEX_MAX),
      z.array(subtaskInputSchema).min(1).max(SUBTASK_INDEX_MAX),
    ])
    .optional(),
  metadata: z
    .record(z.string(), z.unknown())
    .refine((value) => JSON.stringify(value).length <= METADATA_LENGTH_MAX, {
      error: `metadata has at most ${METADATA_LENGTH_MAX} characters of JSON`,
    })
    .optional(),
});
export type TaskInput = z.infer<typeof taskInputSchema>;
export type SubtaskInput = z.infer<typeof subtaskInputSchema>;

/** For requests that contain a task id. */
export const taskIdSchema = z
  .string()
  .max(TASK_ID_LENGTH_MAX, {
    error: `A task id has at most ${TASK_ID_LENGTH_MAX} characters.`,
    abort: true,
  })
  .regex(TASK_ID_PATTERN, { error: (issue) => taskIdFault(String(issue.input)) });
