import { stringify } from 'yaml';
import { gitRef, whyNoCommit } from '../../workspace/scan/git-ref.js';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../exit.js';
import { contextOf } from '../methodology/context-files.js';
import { inWorkspace, withMethodology } from '../methodology/door.js';
import { writeNew } from '../methodology/write-new.js';
import { count } from '../output/text.js';
import { defined } from '../read-options.js';
import { expected, refuse } from '../replies.js';

export const addCheckpoint: AddCommands = (program, act) => {
  program
    .command('checkpoint')
    .description('keep what stands now: how far every feature is, and the hash of what agents work from')
    .option('--message <text>', 'what it is for')
    .addHelpText(
      'after',
      `
Examples:
  gen checkpoint --message "before the storage engine is replaced"
  gen checkpoint --json | jq -r .snapshot.context_hash

It is written to .ai-workspace/snapshots/snapshot-TIME.yml, read-only, and never written again.`,
    )
    .action(act(checkpoint));
};

async function checkpoint(context: Context, { message }: { message?: string }): Promise<void> {
  const workspace = inWorkspace(context);
  const { aggregate_hash } = await contextOf(workspace);
  const git_ref = (await gitRef(workspace.root)) ?? undefined;
  const snapshot_path = `.ai-workspace/snapshots/snapshot-${stamp(new Date())}.yml`;
  await withMethodology(context, 'write', async ({ calls }) => {
    const said = defined({ message, git_ref, agent_id: await context.agent() });
    const asked = { context_hash: aggregate_hash, snapshot_path, ...said };
    const reply = expected(await calls.checkpoint(asked));
    if (!reply.success || reply.snapshot === null) return refuse(context, reply, '');
    const { snapshot } = reply;
    const written = await writeNew(`${workspace.root}/${snapshot_path}`, stringify(snapshot), 'read_only');
    if (!written)
      throw new CommandFailure(`${snapshot_path} is there already, and stays as it is. Try again.`);
    const commit = snapshot.git_ref ?? (await whyNoCommit(workspace.root));
    context.show({ ...reply, snapshot_path }, () =>
      [
        `${context.paint.bold(snapshot_path)}`,
        `  position ${snapshot.position}, ${count(snapshot.feature_states.length, 'feature')}`,
        `  context ${snapshot.context_hash}`,
        `  commit  ${commit}`,
      ].join('\n'),
    );
  });
}

/** A time that can name a file anywhere. */
const stamp = (at: Date): string => at.toISOString().replace(/[-:.]/g, '');
