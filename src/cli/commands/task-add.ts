import type { PlanResult } from '../../core/contract/plan.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import { collectOption, parseWholeNumber } from '../option-parsers.js';
import { countText } from '../output/text.js';
import { unwrapReply } from '../replies.js';

export const taskAddCommand = defineCommand('add <id>', {
  description: 'add a task to the plan',
  options: {
    '--description <text>': { about: 'description of the task', required: true },
    '--instructions <text>': 'instructions for the agent',
    '--depends-on <id>': {
      about: 'dependency; repeatable (default: the previous task of the track)',
      parse: collectOption,
    },
    '--independent': 'no dependencies',
    '--priority <n>': { about: 'priority; higher goes first', parse: parseWholeNumber },
    '--subtasks <n>': { about: 'number of subtasks', parse: parseWholeNumber },
  },
  help: '\nExample:\n  gen task add B-004-search --description "Search by name" --depends-on A-002-index',
  async run(context, id, { description, instructions, dependsOn, independent, priority, subtasks }) {
    const depends_on = independent ? [] : dependsOn;
    const optionalFields = withoutUndefined({ instructions, depends_on, priority, subtasks });
    const reply = await (await context.genesis()).addTasks([{ id, description, ...optionalFields }]);
    context.printReply(unwrapReply(reply), ({ version, task_count, proposal }) =>
      proposal === undefined
        ? `${id} added: plan version ${version}, ${countText(task_count, 'task')}`
        : proposalText(id, proposal),
    );
  },
});

/** The state of a proposal, as text: under some policies a person must approve the tasks that an agent adds. */
function proposalText(
  id: string,
  { proposal_id, state, comment }: NonNullable<PlanResult['proposal']>,
): string {
  const outcome = state === 'pending' ? 'waits for a person' : `was ${state} by a person`;
  return `${id} is proposed as ${proposal_id}, which ${outcome}${comment === null ? '' : `: ${comment}`}.`;
}
