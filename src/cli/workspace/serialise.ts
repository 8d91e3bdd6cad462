import { ENTERPRISE_LIMITS } from '../../core/claims/policy.js';
import { promoteAccepted } from '../../workspace/drafts/promote-accepted.js';
import { PassCounts } from '../../workspace/inbox/pass-counts.js';
import { isSingleAgent } from '../../workspace/mode.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { createSerialiser, serveWorkspace, workspaceContextOf } from '../../workspace/serve.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, failureWithCode } from '../exit.js';
import { type OpenedCoordinator, withCoordinator } from '../open-store.js';
import { countText } from '../output/text.js';
import { abortOnStop } from '../stop.js';
import { configure, reloadConfiguration } from './configure.js';

/** Runs one pass over this workspace's inboxes, or continuous passes until a stop signal. */
export async function serialiseHere(context: CommandContext, isWatching: boolean): Promise<void> {
  const workspace = context.requireWorkspace();
  if (await isSingleAgent(workspace))
    throw new CommandFailure(
      'This project has no inboxes, because coordination.mode is single. ' +
        'To use several agents, set it to multi in .ai-workspace/coordination.yml.',
    );
  const { signal, end } = abortOnStop(context.io);
  const work = async (opened: OpenedCoordinator): Promise<void> => {
    const state = await configure(context.warn, workspace, opened.coordinator);
    // Without a configuration no rule would apply, and every command would be accepted.
    if (state === 'none')
      throw failureWithCode(
        'INVALID_METHODOLOGY',
        'No command was decided: this workspace never had a valid configuration. Fix its files, then try again.',
      );
    // A single pass may be started by a script, which sees only the exit code.
    if (state === 'previous' && !isWatching) context.exit_code = EXIT.refused;
    await serveInboxes(context, workspace, opened, isWatching ? signal : null);
  };
  try {
    await withCoordinator(context, `workspace:${workspace.root}`, work, ENTERPRISE_LIMITS).catch(
      explainStoreInUse,
    );
  } finally {
    end();
  }
}

async function serveInboxes(
  context: CommandContext,
  workspace: Workspace,
  opened: OpenedCoordinator,
  signal: AbortSignal | null,
): Promise<void> {
  const workspaceContext = workspaceContextOf(workspace, { ...opened, key: await readProjectKey(workspace) });
  const { warn } = context;
  if (signal === null) {
    await promoteAccepted(workspace, workspaceContext);
    const counts = await createSerialiser({ workspace, context: workspaceContext, warn }).pass();
    context.printReply(counts, tallyText);
    return;
  }
  context.printNotice('Watching the inboxes. Stop with Ctrl-C.');
  const total = new PassCounts();
  const onPass = (counts: PassCounts): void => {
    if (counts.isEmpty) return;
    total.add(counts);
    if (!context.is_json) context.print(tallyText(counts));
  };
  const reload = reloadConfiguration(warn, workspace, opened.coordinator);
  await serveWorkspace({
    workspace,
    context: workspaceContext,
    warn,
    signal,
    onPass,
    reload,
    hasInboxes: true,
  });
  if (context.is_json) context.printJson(total);
}

function tallyText({ commands, outcomes, broken, expired }: PassCounts): string {
  const codes = Object.entries(outcomes).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = [
    `${countText(commands, 'command')} decided`,
    ...codes.map(([code, times]) => `  ${code}  ${times}`),
  ];
  if (broken > 0) lines.push(`${countText(broken, 'file')} invalid, moved to .ai-workspace/events/broken/`);
  if (expired > 0) lines.push(`${countText(expired, 'claim')} expired`);
  return lines.join('\n');
}

/** Adds to the error that the process that holds the log also serves the inboxes. */
function explainStoreInUse(error: Error): never {
  if (!error.message.includes('open, and a log has one writer')) throw error;
  throw failureWithCode(
    'UNAVAILABLE',
    `${error.message} A running gen up or gen serialise --watch serves the inboxes already.`,
  );
}
