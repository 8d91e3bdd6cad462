import { z } from 'zod';
import type { PlanResult } from '../../coordinator/operations/plan.js';
import { requestIdSchema } from '../../core/ids.js';
import { type PlanInput, taskInputSchema } from '../../core/plan/index.js';
import { count, registerSchema } from './common.js';

const planFields = {
  project: z.string().exactOptional(),
  tracks: z.record(z.string(), z.array(taskInputSchema)),
};
export const plan = registerSchema<PlanInput>()('Plan', z.object(planFields));
export const planView = z.object({ version: count, plan });
export const planResult = registerSchema<PlanResult>()(
  'PlanResult',
  z.object({ version: count, added: count, changed: count, removed: count, task_count: count }),
);

const commandFields = { request_id: requestIdSchema.optional(), signature: z.string().max(512).optional() };
export const putPlanBody = z.object({ ...planFields, ...commandFields });
const addedSubtask = z.object({ id: z.string(), description: z.string(), depends_on: z.array(z.string()) });
export const addTasksBody = z.strictObject({
  tasks: z.array(z.union([taskInputSchema, addedSubtask.partial({ depends_on: true })])),
  ...commandFields,
});

/** The fields beside a plan or a list of tasks, which the coordinator itself validates. */
export const planEnvelope = z.object(commandFields).loose();
export const tasksEnvelope = z.strictObject({
  tasks: z.unknown().refine((tasks) => tasks !== undefined, 'expected a list of tasks'),
  ...commandFields,
});
