import { stringify } from 'yaml';
import { headCommit, noCommitReason } from '../../workspace/scan/git-ref.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import { buildContextManifest } from '../methodology/context-files.js';
import { requireWorkspace, withMethodology } from '../methodology/project-connection.js';
import { writeNew } from '../methodology/write-new.js';
import { withoutUndefined } from '../option-parsers.js';
import { countText } from '../output/text.js';
import { reportRefusal, unwrapReply } from '../replies.js';

export const addCheckpoint: AddCommands = (program, wrapAction) => {
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
    .action(wrapAction(checkpoint));
};

async function checkpoint(context: CommandContext, { message }: { message?: string }): Promise<void> {
  const workspace = requireWorkspace(context);
  const { aggregate_hash } = await buildContextManifest(workspace);
  const git_ref = (await headCommit(workspace.root)) ?? undefined;
  const snapshot_path = `.ai-workspace/snapshots/snapshot-${fileTimestamp(new Date())}.yml`;
  await withMethodology(context, 'write', async ({ calls }) => {
    const optionalFields = withoutUndefined({ message, git_ref, agent_id: await context.agent() });
    const request = { context_hash: aggregate_hash, snapshot_path, ...optionalFields };
    const reply = unwrapReply(await calls.checkpoint(request));
    if (!reply.success || reply.snapshot === null) return reportRefusal(context, reply, '');
    const { snapshot } = reply;
    const isWritten = await writeNew(`${workspace.root}/${snapshot_path}`, stringify(snapshot), 'read_only');
    if (!isWritten)
      throw new CommandFailure(`${snapshot_path} is there already, and stays as it is. Try again.`);
    const commit = snapshot.git_ref ?? (await noCommitReason(workspace.root));
    context.show({ ...reply, snapshot_path }, () =>
      [
        `${context.paint.bold(snapshot_path)}`,
        `  position ${snapshot.position}, ${countText(snapshot.feature_states.length, 'feature')}`,
        `  context ${snapshot.context_hash}`,
        `  commit  ${commit}`,
      ].join('\n'),
    );
  });
}

/** A timestamp without characters that some file systems forbid in a name. */
const fileTimestamp = (at: Date): string => at.toISOString().replace(/[-:.]/g, '');
