import { stringify } from 'yaml';
import { withoutUndefined } from '../../core/without-undefined.js';
import { headCommit, noCommitText } from '../../workspace/scan/git-ref.js';
import { defineCommand } from '../command.js';
import { CommandFailure } from '../exit.js';
import { buildContextManifest } from '../methodology/context-files.js';
import { withMethodology } from '../methodology/project-connection.js';
import { writeNew } from '../methodology/write-new.js';
import { countText } from '../output/text.js';
import { reportRefusal, unwrapReply } from '../replies.js';

export const checkpointCommand = defineCommand('checkpoint', {
  description: 'record the state of every feature and the context hash in the log',
  options: { '--message <text>': 'description of the checkpoint' },
  help: `
Examples:
  gen checkpoint --message "before the storage engine is replaced"
  gen checkpoint --json | jq -r .snapshot.context_hash

The snapshot is written to .ai-workspace/snapshots/snapshot-TIME.yml, read-only, and never changed.`,
  async run(context, { message }) {
    const workspace = context.requireWorkspace();
    const { context_hash } = await buildContextManifest(workspace);
    const git_ref = (await headCommit(workspace.root)) ?? undefined;
    const snapshot_path = `.ai-workspace/snapshots/snapshot-${fileTimestamp(new Date())}.yml`;
    await withMethodology(context, 'write', async ({ calls }) => {
      const agent_id = await context.agent();
      const request = withoutUndefined({ context_hash, snapshot_path, message, git_ref, agent_id });
      const reply = unwrapReply(await calls.checkpoint(request));
      if (!reply.success || reply.snapshot === null) return reportRefusal(context, reply);
      const { snapshot } = reply;
      if (!(await writeNew(`${workspace.root}/${snapshot_path}`, stringify(snapshot), 'read_only')))
        throw new CommandFailure(`${snapshot_path} already exists and was not changed. Try again.`);
      const commit = snapshot.git_ref ?? (await noCommitText(workspace.root));
      context.printReply({ ...reply, snapshot_path }, () => [
        context.paint.bold(snapshot_path),
        `  position ${snapshot.position}, ${countText(snapshot.feature_states.length, 'feature')}`,
        `  context ${snapshot.context_hash}`,
        `  commit  ${commit}`,
      ]);
    });
  },
});

/** A timestamp without characters that some file systems forbid in a name. */
const fileTimestamp = (at: Date): string => at.toISOString().replace(/[-:.]/g, '');
