import { readWorkspaceFiles } from '../../workspace/read-files.js';
import { type PullReport, pull } from '../../workspace/sync/pull.js';
import { type PushReport, push, type UnsentEvent } from '../../workspace/sync/push.js';
import { type SyncStatus, syncStatus } from '../../workspace/sync/status.js';
import {
  isSyncRefusal,
  type LocalLog,
  type SyncRefusal,
  type SyncWorkspace,
} from '../../workspace/sync/sync-workspace.js';
import { syncWorkspaceOf } from '../../workspace/sync/sync-workspace-of.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { requireWorkspace } from '../methodology/project-connection.js';
import { countText, singleLine } from '../output/text.js';
import { remoteUrl, withRemote } from './with-remote.js';

interface RemoteOption {
  readonly remote?: string;
}

const LISTED_MAX = 20;
const syncOptions = () => ({ now_ms: Date.now(), onStep: () => {} });

export async function pushHere(
  context: CommandContext,
  { remote: explicitRemote }: RemoteOption,
): Promise<void> {
  const workspace = requireWorkspace(context);
  const syncContext = await syncContextOf(context);
  const files = await readWorkspaceFiles(workspace);
  const report = await withRemote(
    context,
    await remoteUrl(context, explicitRemote, syncContext.sync_file),
    syncContext.key,
    (remote) => withLocalLog(syncContext, (local) => push(syncContext, local, remote, files, syncOptions())),
  );
  context.show(unwrapSync(report), pushText);
  if (unwrapSync(report).refused_count > 0) context.exit_code = EXIT.refused;
}

export async function pullHere(
  context: CommandContext,
  { remote: explicitRemote, keepAside }: RemoteOption & { keepAside?: true },
): Promise<void> {
  const syncContext = await syncContextOf(context);
  const keep_aside = keepAside === true;
  const report = await withRemote(
    context,
    await remoteUrl(context, explicitRemote, syncContext.sync_file),
    syncContext.key,
    (remote) => pull(syncContext, remote, { ...syncOptions(), keep_aside }),
  );
  context.show(unwrapSync(report), pullText);
}

export async function statusHere(
  context: CommandContext,
  { remote: explicitRemote }: RemoteOption,
): Promise<void> {
  const syncContext = await syncContextOf(context);
  const status = await withRemote(
    context,
    await remoteUrl(context, explicitRemote, syncContext.sync_file),
    syncContext.key,
    (remote) => withLocalLog(syncContext, (local) => syncStatus(syncContext, local, remote, Date.now())),
  );
  context.show(unwrapSync(status), statusText);
}

const syncContextOf = (context: CommandContext): Promise<SyncWorkspace> =>
  syncWorkspaceOf(requireWorkspace(context), (sentence) => context.printNotice(singleLine(sentence)));

async function withLocalLog<T>(
  syncContext: SyncWorkspace,
  work: (local: LocalLog) => Promise<T>,
): Promise<T> {
  const local = await syncContext.open();
  try {
    return await work(local);
  } finally {
    await local.store.close();
  }
}

function unwrapSync<T extends object>(reply: T | SyncRefusal): T {
  if (isSyncRefusal(reply)) throw new CommandFailure(reply.detail, EXIT.refused, reply);
  return reply;
}

function pushText({
  from,
  to,
  sent,
  refused,
  refused_count,
  not_sent,
  not_sent_count,
  claims,
}: PushReport): string {
  if (to < from) return 'Nothing was done here that the remote has not heard of.';
  const lines = [`${countText(to - from + 1, 'event')} of this workspace: ${sent} told to the remote.`];
  for (const { subject, agent_id, local_generation, generation } of claims) {
    lines.push(`  ${subject} is ${agent_id}’s: generation ${generation} there, ${local_generation} here.`);
  }
  if (refused_count > 0) lines.push(`${refused_count} refused, and kept here:`, ...unsentLines(refused));
  if (not_sent_count > 0) lines.push(`${not_sent_count} not sent, and kept here:`, ...unsentLines(not_sent));
  lines.push('Next: gen sync pull puts what was done here aside and takes over the remote’s log.');
  return lines.map(singleLine).join('\n');
}

const unsentLines = (unsent: readonly UnsentEvent[]): string[] =>
  unsent.slice(0, LISTED_MAX).map(({ position, event_type, subject, reason, holder }) => {
    const held = holder === undefined ? '' : `, held by ${holder}`;
    return `  ${position}  ${event_type}${subject === null ? '' : ` ${subject}`}: ${reason}${held}`;
  });

function pullText({ position, received, rebuilt, aside }: PullReport): string {
  if (rebuilt) {
    const kept = aside === null ? '' : ` What was done offline is in ${singleLine(aside)}.`;
    return `The log was built anew from the remote’s: ${countText(position, 'event')}.${kept}`;
  }
  return received === 0
    ? `Nothing new: ${countText(position, 'event')}.`
    : `${countText(received, 'event')} received.`;
}

function statusText(status: SyncStatus): string {
  const { remote, local_position, remote_position, tail, pushed, behind, last_pull, last_push, warning } =
    status;
  const next =
    tail > 0
      ? pushed
        ? 'All of it was told to the remote. Next: gen sync pull'
        : 'Next: gen sync push'
      : behind > 0
        ? 'Next: gen sync pull'
        : 'In step.';
  const lines = [
    `remote     ${singleLine(remote)}, at ${remote_position}`,
    `here       at ${local_position}: ${countText(tail, 'event')} of its own, ${behind} behind`,
    `last pull  ${last_pull ?? 'never'}`,
    `last push  ${last_push ?? 'never'}`,
    next,
  ];
  return [...lines, ...(warning === null ? [] : [warning])].join('\n');
}
