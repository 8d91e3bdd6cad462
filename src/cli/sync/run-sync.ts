import { readWorkspaceFiles } from '../../workspace/read-files.js';
import { type PullReport, pull } from '../../workspace/sync/pull.js';
import { type PushReport, push, type UnsentEvent } from '../../workspace/sync/push.js';
import type { SyncRemote } from '../../workspace/sync/remote.js';
import { type SyncStatus, syncStatus } from '../../workspace/sync/status.js';
import {
  isSyncRefusal,
  type LocalLog,
  type SyncRefusal,
  type SyncWorkspace,
  syncWorkspaceOf,
} from '../../workspace/sync/sync-workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { countText, singleLine } from '../output/text.js';
import { withRemote } from './with-remote.js';

const LISTED_MAX = 20;
const syncOptions = () => ({ now_ms: Date.now(), onStep: () => {} });

export async function pushHere(context: CommandContext, url: string | undefined): Promise<void> {
  const files = await readWorkspaceFiles(context.requireWorkspace());
  const report = await withBothLogs(context, url, (sync, remote) =>
    withLocalLog(sync, (local) => push(sync, local, remote, files, syncOptions())),
  );
  context.printReply(report, pushText);
  if (report.refused_count > 0) context.exit_code = EXIT.refused;
}

export async function pullHere(
  context: CommandContext,
  url: string | undefined,
  may_replace_unpushed: boolean,
): Promise<void> {
  const report = await withBothLogs(context, url, (sync, remote) =>
    pull(sync, remote, { ...syncOptions(), may_replace_unpushed }),
  );
  context.printReply(report, pullText);
}

export async function statusHere(context: CommandContext, url: string | undefined): Promise<void> {
  const status = await withBothLogs(context, url, (sync, remote) =>
    withLocalLog(sync, (local) => syncStatus(sync, local, remote, Date.now())),
  );
  context.printReply(status, statusText);
}

/** Runs work on this workspace and its remote. A refusal that the work returns is thrown as a failure. */
async function withBothLogs<T extends object>(
  context: CommandContext,
  explicitRemote: string | undefined,
  work: (sync: SyncWorkspace, remote: SyncRemote) => Promise<T | SyncRefusal>,
): Promise<T> {
  const sync = await syncWorkspaceOf(context.requireWorkspace(), context.warn);
  const reply = await withRemote(context, sync, explicitRemote, (remote) => work(sync, remote));
  if (isSyncRefusal(reply)) throw new CommandFailure(reply.detail, EXIT.refused, reply);
  return reply;
}

async function withLocalLog<T>(sync: SyncWorkspace, work: (local: LocalLog) => Promise<T>): Promise<T> {
  const local = await sync.open();
  try {
    return await work(local);
  } finally {
    await local.store.close();
  }
}

function pushText(report: PushReport): string {
  const { from, to, sent, refused, refused_count, not_sent, not_sent_count, claims } = report;
  if (to < from) return 'Nothing to push: the remote has every local event.';
  const lines = [`${countText(to - from + 1, 'local event')}: ${sent} sent to the remote.`];
  for (const { subject, agent_id, local_generation, generation } of claims) {
    lines.push(
      `  ${subject} is held by ${agent_id}: generation ${generation} remotely, ${local_generation} locally.`,
    );
  }
  if (refused_count > 0) lines.push(`${refused_count} refused, kept locally:`, ...unsentLines(refused));
  if (not_sent_count > 0) lines.push(`${not_sent_count} not sent, kept locally:`, ...unsentLines(not_sent));
  lines.push(
    'Next: gen sync pull, which saves the local events and replaces the local log with the remote log.',
  );
  return lines.map(singleLine).join('\n');
}

const unsentLines = (unsent: readonly UnsentEvent[]): string[] =>
  unsent.slice(0, LISTED_MAX).map(({ position, event_type, subject, reason, holder }) => {
    const holderText = holder === undefined ? '' : `, held by ${holder}`;
    return `  ${position}  ${event_type}${subject === null ? '' : ` ${subject}`}: ${reason}${holderText}`;
  });

function pullText({ position, received, rebuilt, aside }: PullReport): string {
  if (rebuilt) {
    const asideText = aside === null ? '' : ` The offline events are in ${singleLine(aside)}.`;
    return `The log was rebuilt from the remote log: ${countText(position, 'event')}.${asideText}`;
  }
  return received === 0
    ? `Already up to date: ${countText(position, 'event')}.`
    : `${countText(received, 'event')} received.`;
}

function statusText(status: SyncStatus): string {
  const { remote, local_position, remote_position, tail, behind, last_pull, last_push, warning } = status;
  const lines = [
    `remote     ${singleLine(remote)}, at ${remote_position}`,
    `local      at ${local_position}: ${countText(tail, 'event')} ahead, ${behind} behind`,
    `last pull  ${last_pull ?? 'never'}`,
    `last push  ${last_push ?? 'never'}`,
    nextStep(status),
  ];
  return [...lines, ...(warning === null ? [] : [warning])].join('\n');
}

function nextStep({ tail, pushed, behind }: SyncStatus): string {
  if (tail > 0 && !pushed) return 'Next: gen sync push';
  if (tail > 0) return 'All local events were sent to the remote. Next: gen sync pull';
  return behind > 0 ? 'Next: gen sync pull' : 'In sync.';
}
