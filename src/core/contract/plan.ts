import { z } from 'zod';
import { requestIdSchema } from '../ids.js';
import { taskProposalSchema } from '../plan/task-proposal.js';
import { taskInputSchema } from '../plan/task-schema.js';
import { type ApiOperations, PROJECT_PATH, readOperation } from './operation.js';
import {
  atQuery,
  boundedText,
  count,
  mutationFields,
  namedObject,
  type ReplyOf,
  withName,
} from './schema.js';

const planFields = {
  project: z.string().exactOptional(),
  tracks: z.record(z.string(), z.array(taskInputSchema)),
};

/** A plan in its written form. */
const planInput = withName('Plan', z.object(planFields));
const planView = z.object({ version: count, plan: planInput });
/** A proposal of tasks, and what a person decided about it. */
const proposalOutcome = z.object({
  proposal_id: z.string(),
  state: taskProposalSchema.shape.state,
  comment: z.string().nullable(),
});
export const planResult = namedObject('PlanResult', {
  version: count,
  added: count,
  changed: count,
  removed: count,
  task_count: count,
  proposal: proposalOutcome.exactOptional().describe('set if the tasks wait, or waited, for a person'),
});

const addedSubtask = z.object({
  id: z.string(),
  description: z.string(),
  depends_on: z.array(z.string()).optional(),
});
const addTasksBody = z.strictObject({
  tasks: z.array(z.union([taskInputSchema, addedSubtask])),
  ...mutationFields,
});

/** Request fields besides the plan or the list of tasks. The coordinator itself validates the plan and the tasks. */
export const planEnvelope = z.object(mutationFields).loose();
export const tasksEnvelope = z.strictObject({
  tasks: z.unknown().refine((tasks) => tasks !== undefined, 'expected a list of tasks'),
  ...mutationFields,
});

export const decideProposalBody = z.strictObject({
  proposal_id: z
    .string()
    .regex(/^prop_[0-9a-f]{24}$/, { error: 'expected the id of a proposal, as gen review lists it' }),
  decision: z.enum(['approve', 'reject']),
  comment: boundedText(4000).optional(),
  ...mutationFields,
});
export type DecideProposalBody = z.infer<typeof decideProposalBody>;
export type PlanInput = z.output<typeof planInput>;
export type PlanResult = ReplyOf<typeof planResult>;
export type PlanView = z.output<typeof planView>;

const PLAN_PATH = `${PROJECT_PATH}/plan` as const;

export const planOperations = {
  get_plan: readOperation(PLAN_PATH, 'Get the plan, now or at a log position, with its version as ETag', {
    query: atQuery,
    reply: planView,
  }),
  put_plan: {
    method: 'PUT',
    path: PLAN_PATH,
    action: 'operate',
    summary: 'Replace the plan, in JSON or YAML; If-Match prevents lost updates',
    query: z.strictObject({ request_id: requestIdSchema.exactOptional() }),
    body: { kind: 'plan', schema: z.object({ ...planFields, ...mutationFields }) },
    reply: planResult,
  },
  add_tasks: {
    method: 'POST',
    path: `${PROJECT_PATH}/tasks`,
    // Agents may call this too. By policy, their tasks wait for a person's approval.
    action: 'work',
    summary: 'Add tasks and subtasks to the plan; by policy, tasks of an agent wait for approval by a person',
    body: { kind: 'json', schema: addTasksBody, is_document: true },
    reply: planResult,
  },
} as const satisfies ApiOperations;
