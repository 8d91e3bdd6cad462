import { type Command, Option } from 'commander';
import { isProblem } from '../client/replies.js';
import { edgeSubject } from '../core/graph/edge-name.js';
import { kindOf, subjectKeys } from '../core/subject.js';
import type { Context } from './context.js';
import { CommandFailure, failed } from './exit.js';
import type { Handle } from './memory/memory.js';
import { clockTime } from './output/text.js';
import { wholeNumber } from './read-options.js';

/** A handle from elsewhere, in the place of the one that is remembered. */
export interface HandleOptions {
  readonly generation?: number;
  readonly claimId?: string;
}

const generationOption = (): Option =>
  new Option('--generation <n>', 'the generation of a handle that is not remembered here').argParser(
    wholeNumber,
  );
const claimIdOption = (): Option =>
  new Option('--claim-id <id>', 'the claim id of a handle that is not remembered here');

export const withHandle = (command: Command): Command =>
  command.addOption(generationOption()).addOption(claimIdOption());

/** An edge has one name, however it is spelled; by that name its handle is remembered. */
export function subjectNamed(id: string): string {
  const { feature_id, edge } = kindOf(id) === 'edge' ? subjectKeys(id) : {};
  return feature_id === undefined || edge === undefined ? id : edgeSubject(feature_id, edge);
}

/** The handle of this session for a piece of work. */
export async function handleFor(context: Context, id: string, options: HandleOptions): Promise<Handle> {
  const task_id = subjectNamed(id);
  const session_id = await context.session();
  const kept = await context.memory.handle(await context.place(), session_id, task_id);
  const { generation, claimId: claim_id } = options;
  if (generation !== undefined && kept?.generation !== generation) {
    const told = claim_id === undefined ? {} : { claim_id };
    const agent_id = await context.agent();
    return { task_id, generation, session_id, agent_id, lease_duration_seconds: null, ...told };
  }
  if (kept === null) {
    throw (
      (await completedAlready(context, task_id)) ??
      new CommandFailure(
        `No handle for ${task_id} is remembered in session ${session_id}. Claim it first (gen task claim ${task_id}); ` +
          'if another session of yours holds it, name that with --session; or show the handle with --generation and --claim-id.',
      )
    );
  }
  return claim_id === undefined ? kept : { ...kept, claim_id };
}

/** A handle is forgotten with the result that was accepted under it. */
async function completedAlready(context: Context, task_id: string): Promise<CommandFailure | null> {
  const state = await (await context.genesis()).task(task_id);
  if (isProblem(state) || state.phase !== 'COMPLETED' || state.result === null) return null;
  const { agent_id, work_product_ref, submitted_at } = state.result;
  const who = agent_id === (await context.agent()) ? 'you' : agent_id;
  return failed(
    'TASK_ALREADY_COMPLETED',
    `${task_id} is completed already: ${work_product_ref}, by ${who} at ${clockTime(submitted_at)} UTC. Take other work; an operator can reset it.`,
  );
}

/** As every fenced call wants it, but for the name it gives the generation. */
export const fenced = ({ task_id, session_id, claim_id }: Handle) => ({
  task_id,
  session_id,
  ...(claim_id === undefined ? {} : { claim_id }),
});
