import type { Command } from 'commander';
import type { TaskInput } from '../../core/plan/index.js';
import type { ActionWrapper } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { collectOption, parseWholeNumber } from '../option-parsers.js';
import { countText } from '../output/text.js';
import { unwrapReply } from '../replies.js';

interface AddOptions {
  readonly description: string;
  readonly instructions?: string;
  readonly dependsOn?: readonly string[];
  readonly independent?: true;
  readonly priority?: number;
  readonly subtasks?: number;
}

export function addTaskAdd(task: Command, wrapAction: ActionWrapper): void {
  task
    .command('add <id>')
    .description('add a task to the plan')
    .requiredOption('--description <text>', 'what is to be done')
    .option('--instructions <text>', 'how')
    .option(
      '--depends-on <id>',
      'what it waits for; may be repeated (default: the task before it in its track)',
      collectOption,
    )
    .option('--independent', 'it waits for nothing')
    .option('--priority <n>', 'higher goes first', parseWholeNumber)
    .option('--subtasks <n>', 'how many parts it is done in', parseWholeNumber)
    .addHelpText(
      'after',
      '\nExample:\n  gen task add B-004-search --description "Search by name" --depends-on A-002-index',
    )
    .action(wrapAction(add));
}

async function add(context: CommandContext, id: string, options: AddOptions): Promise<void> {
  const { description, instructions, dependsOn, independent, priority, subtasks } = options;
  const dependencyIds = independent === true ? [] : dependsOn;
  const task: TaskInput = {
    id,
    description,
    ...(instructions === undefined ? {} : { instructions }),
    ...(dependencyIds === undefined ? {} : { depends_on: [...dependencyIds] }),
    ...(priority === undefined ? {} : { priority }),
    ...(subtasks === undefined ? {} : { subtasks }),
  };
  const genesis = await context.genesis();
  context.show(
    unwrapReply(await genesis.addTasks([task])),
    ({ version, task_count }) => `${id} is in the plan, version ${version}, ${countText(task_count, 'task')}`,
  );
}
