import { findLogs } from '../../../src/cli/verify/find-logs.js';
import { readLog } from '../../../src/cli/verify/read-log.js';
import { verifyLog } from '../../../src/cli/verify/verify-log.js';
import type { FleetReplies, ReplyRecord } from './fleet-replies.js';

const REPLY_KIND_OF_EVENT = { CLAIM_ACQUIRED: 'granted', RESULT_SUBMITTED: 'completed' } as const;

/** Compares the replies that the agents received with the log. Empty: they agree. */
export async function compareWithLog(root: string, replies: FleetReplies): Promise<string[]> {
  const faults: string[] = [];
  const logged = { granted: new Map<string, string[]>(), completed: new Map<string, string[]>() };
  for (const logFile of (await findLogs(root)) ?? []) {
    const { breaks } = await verifyLog(logFile, () => {});
    faults.push(...breaks.map(({ rule, subject, says }) => `${rule} ${subject ?? ''}: ${says}`));
    await readLog(logFile, ({ event }) => {
      const kind = REPLY_KIND_OF_EVENT[event.event_type as keyof typeof REPLY_KIND_OF_EVENT];
      if (kind === undefined) return;
      const { project_id, task_id = '', session_id = '', generation = 0 } = event;
      const task = `${project_id}/${task_id}`;
      const list = logged[kind].get(task) ?? [];
      logged[kind].set(task, [...list, describeRecord({ project_id, task_id, session_id, generation })]);
    });
  }
  for (const kind of ['granted', 'completed'] as const) {
    faults.push(...compareKind(kind, logged[kind], replies[kind], replies.unanswered));
  }
  return faults;
}

const describeRecord = ({ project_id, task_id, session_id, generation }: ReplyRecord): string =>
  `${project_id}/${task_id} to ${session_id} as generation ${generation}`;

/**
 * No task is released in these runs, so each is granted once and completed once, to the agent that received the reply.
 */
function compareKind(
  kind: 'granted' | 'completed',
  logged: ReadonlyMap<string, readonly string[]>,
  replies: readonly ReplyRecord[],
  unanswered: number,
): string[] {
  const faults: string[] = [];
  for (const [task, records] of logged) if (records.length > 1) faults.push(`${task} was ${kind} twice`);
  const inLog = new Set([...logged.values()].flat());
  const acknowledged = new Set(replies.map(describeRecord));
  for (const record of acknowledged)
    if (!inLog.has(record)) faults.push(`${record}: confirmed as ${kind}, but not in the log`);
  const unacknowledged = [...inLog].filter((record) => !acknowledged.has(record));
  if (unacknowledged.length > unanswered)
    faults.push(...unacknowledged.map((record) => `${record}: ${kind} in the log, but not confirmed`));
  return faults;
}
