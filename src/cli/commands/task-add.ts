import type { Command } from 'commander';
import type { TaskInput } from '../../core/plan/index.js';
import type { Act } from '../act.js';
import type { Context } from '../context.js';
import { count } from '../output/text.js';
import { gather, wholeNumber } from '../read-options.js';
import { expected } from '../replies.js';

interface AddOptions {
  readonly description: string;
  readonly instructions?: string;
  readonly dependsOn?: readonly string[];
  readonly independent?: true;
  readonly priority?: number;
  readonly subtasks?: number;
}

export function addTaskAdd(task: Command, act: Act): void {
  task
    .command('add <id>')
    .description('add a task to the plan')
    .requiredOption('--description <text>', 'what is to be done')
    .option('--instructions <text>', 'how')
    .option(
      '--depends-on <id>',
      'what it waits for; may be repeated (default: the task before it in its track)',
      gather,
    )
    .option('--independent', 'it waits for nothing')
    .option('--priority <n>', 'higher goes first', wholeNumber)
    .option('--subtasks <n>', 'how many parts it is done in', wholeNumber)
    .addHelpText(
      'after',
      '\nExample:\n  gen task add B-004-search --description "Search by name" --depends-on A-002-index',
    )
    .action(act(add));
}

async function add(context: Context, id: string, options: AddOptions): Promise<void> {
  const { description, instructions, dependsOn, independent, priority, subtasks } = options;
  const depends_on = independent === true ? [] : dependsOn;
  const task: TaskInput = {
    id,
    description,
    ...(instructions === undefined ? {} : { instructions }),
    ...(depends_on === undefined ? {} : { depends_on: [...depends_on] }),
    ...(priority === undefined ? {} : { priority }),
    ...(subtasks === undefined ? {} : { subtasks }),
  };
  const genesis = await context.genesis();
  context.show(
    expected(await genesis.addTasks([task])),
    ({ version, task_count }) => `${id} is in the plan, version ${version}, ${count(task_count, 'task')}`,
  );
}
