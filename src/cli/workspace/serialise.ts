import { Coordinator } from '../../coordinator/coordinator.js';
import { ENTERPRISE_LIMITS } from '../../core/claims/policy.js';
import type { OpenedStore } from '../../server/store-url.js';
import { promoteAccepted } from '../../workspace/drafts/index.js';
import { PassCounts } from '../../workspace/inbox/pass-counts.js';
import { isSingleAgent } from '../../workspace/load.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { serialiserOf, serveWorkspace, workspaceContextOf } from '../../workspace/serve.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, failureWithCode } from '../exit.js';
import { withStore } from '../open-store.js';
import { countText, singleLine } from '../output/text.js';
import { stopSignal } from '../stop.js';
import { throwUserError } from '../user-errors.js';
import { configure } from './configure.js';
import { requireWorkspaceHere } from './require-workspace.js';

/** Runs one pass over this workspace's inboxes, or continuous passes until a stop signal. */
export async function serialiseHere(context: CommandContext, watch: boolean): Promise<void> {
  const workspace = requireWorkspaceHere(context);
  if (await isSingleAgent(workspace).catch(throwUserError)) throw singleAgent();
  const { signal, end } = stopSignal(context.io);
  try {
    await withStore(context, `workspace:${workspace.root}`, async (opened) => {
      const coordinator = await Coordinator.open({ ...opened, limits: ENTERPRISE_LIMITS });
      try {
        const configured = await configure((text) => context.printNotice(text), workspace, coordinator);
        // Without a configuration no rule would apply, and every command would be accepted.
        if (configured === 'never') throw unconfigured();
        // A single run may be a script, which sees only the exit code.
        if (configured === 'before' && !watch) context.exit_code = EXIT.refused;
        await serveInboxes(context, workspace, { ...opened, coordinator }, watch ? signal : null);
      } finally {
        coordinator.close();
      }
    }).catch(explainStoreInUse);
  } finally {
    end();
  }
}

async function serveInboxes(
  context: CommandContext,
  workspace: Workspace,
  opened: OpenedStore & { readonly coordinator: Coordinator },
  signal: AbortSignal | null,
): Promise<void> {
  const inboxRuntime = workspaceContextOf(workspace, { ...opened, key: await readProjectKey(workspace) });
  const warn = (sentence: string): void => context.printNotice(singleLine(sentence));
  if (signal === null) {
    await promoteAccepted(workspace, inboxRuntime);
    const tally = await serialiserOf({ workspace, context: inboxRuntime, warn }).pass();
    context.show(tally, tallyText);
    return;
  }
  context.printNotice('Watching the inboxes. Stop with Ctrl-C.');
  const total = new PassCounts();
  const onPass = (tally: PassCounts): void => {
    if (tally.isEmpty) return;
    total.add(tally);
    if (!context.is_json) context.print(tallyText(tally));
  };
  await serveWorkspace({ workspace, context: inboxRuntime, warn, signal, onPass, has_inboxes: true });
  if (context.is_json) context.printJson(total);
}

function tallyText({ commands, outcomes, broken, expired }: PassCounts): string {
  const codes = Object.entries(outcomes).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = [
    `${countText(commands, 'command')} decided`,
    ...codes.map(([code, times]) => `  ${code}  ${times}`),
  ];
  if (broken > 0) lines.push(`${countText(broken, 'file')} set aside: see .ai-workspace/events/broken/`);
  if (expired > 0) lines.push(`${countText(expired, 'claim')} reported silent`);
  return lines.join('\n');
}

const singleAgent = (): CommandFailure =>
  new CommandFailure(
    'One agent works in this project, without inboxes: coordination.mode is single. ' +
      'To let others in, set it to multi in .ai-workspace/coordination.yml.',
  );

const unconfigured = (): CommandFailure =>
  failureWithCode(
    'INVALID_METHODOLOGY',
    'Nothing was decided: the files of this workspace were never read whole. Mend them, then try again.',
  );

/** The process that holds the log also serves the inboxes; say so. */
function explainStoreInUse(error: Error): never {
  if (!error.message.includes('open, and a log has one writer')) throw error;
  throw failureWithCode(
    'UNAVAILABLE',
    `${error.message} A gen up or gen serialise --watch that runs here serves the inboxes already.`,
  );
}
