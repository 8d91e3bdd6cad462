import { readFiles } from '../../workspace/read-files.js';
import { isRefusal, type LocalLog, type SyncPlace, type SyncRefusal } from '../../workspace/sync/place.js';
import { type PullReport, pull } from '../../workspace/sync/pull.js';
import { type PushReport, push, type Untold } from '../../workspace/sync/push.js';
import { type SyncStatus, syncStatus } from '../../workspace/sync/status.js';
import { placeOfWorkspace } from '../../workspace/sync/workspace-place.js';
import type { Context } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { inWorkspace } from '../methodology/door.js';
import { count, plainText } from '../output/text.js';
import { remoteUrl, withRemote } from './with-remote.js';

interface RemoteOption {
  readonly remote?: string;
}

const LISTED = 20;
const options = () => ({ now_ms: Date.now(), onStep: () => {} });

export async function pushHere(context: Context, { remote: named }: RemoteOption): Promise<void> {
  const workspace = inWorkspace(context);
  const place = await placeOf(context);
  const files = await readFiles(workspace);
  const report = await withRemote(
    context,
    await remoteUrl(context, named, place.sync_file),
    place.key,
    (remote) => opened(place, (local) => push(place, local, remote, files, options())),
  );
  context.show(told(report), pushText);
  if (told(report).refused_count > 0) context.exit_code = EXIT.refused;
}

export async function pullHere(
  context: Context,
  { remote: named, keepAside }: RemoteOption & { keepAside?: true },
): Promise<void> {
  const place = await placeOf(context);
  const keep_aside = keepAside === true;
  const report = await withRemote(
    context,
    await remoteUrl(context, named, place.sync_file),
    place.key,
    (remote) => pull(place, remote, { ...options(), keep_aside }),
  );
  context.show(told(report), pullText);
}

export async function statusHere(context: Context, { remote: named }: RemoteOption): Promise<void> {
  const place = await placeOf(context);
  const status = await withRemote(
    context,
    await remoteUrl(context, named, place.sync_file),
    place.key,
    (remote) => opened(place, (local) => syncStatus(place, local, remote, Date.now())),
  );
  context.show(told(status), statusText);
}

const placeOf = (context: Context): Promise<SyncPlace> =>
  placeOfWorkspace(inWorkspace(context), (sentence) => context.remark(plainText(sentence)));

async function opened<T>(place: SyncPlace, work: (local: LocalLog) => Promise<T>): Promise<T> {
  const local = await place.open();
  try {
    return await work(local);
  } finally {
    await local.store.close();
  }
}

function told<T extends object>(reply: T | SyncRefusal): T {
  if (isRefusal(reply)) throw new CommandFailure(reply.detail, EXIT.refused, reply);
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
  const lines = [`${count(to - from + 1, 'event')} of this workspace: ${sent} told to the remote.`];
  for (const { subject, agent_id, local_generation, generation } of claims) {
    lines.push(`  ${subject} is ${agent_id}’s: generation ${generation} there, ${local_generation} here.`);
  }
  if (refused_count > 0) lines.push(`${refused_count} refused, and kept here:`, ...listed(refused));
  if (not_sent_count > 0) lines.push(`${not_sent_count} not sent, and kept here:`, ...listed(not_sent));
  lines.push('Next: gen sync pull puts what was done here aside and takes over the remote’s log.');
  return lines.map(plainText).join('\n');
}

const listed = (untold: readonly Untold[]): string[] =>
  untold.slice(0, LISTED).map(({ position, event_type, subject, reason, holder }) => {
    const held = holder === undefined ? '' : `, held by ${holder}`;
    return `  ${position}  ${event_type}${subject === null ? '' : ` ${subject}`}: ${reason}${held}`;
  });

function pullText({ position, received, rebuilt, aside }: PullReport): string {
  if (rebuilt) {
    const kept = aside === null ? '' : ` What was done offline is in ${plainText(aside)}.`;
    return `The log was built anew from the remote’s: ${count(position, 'event')}.${kept}`;
  }
  return received === 0
    ? `Nothing new: ${count(position, 'event')}.`
    : `${count(received, 'event')} received.`;
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
    `remote     ${plainText(remote)}, at ${remote_position}`,
    `here       at ${local_position}: ${count(tail, 'event')} of its own, ${behind} behind`,
    `last pull  ${last_pull ?? 'never'}`,
    `last push  ${last_push ?? 'never'}`,
    next,
  ];
  return [...lines, ...(warning === null ? [] : [warning])].join('\n');
}
