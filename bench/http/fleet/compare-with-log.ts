import type { ReadBenchLog } from './bench-log.js';
import type { FleetReplies, ReplyRecord } from './fleet-replies.js';

const REPLY_KIND_OF_EVENT = { CLAIM_ACQUIRED: 'granted', RESULT_SUBMITTED: 'completed' } as const;

/** Compares the replies that the agents received with the log. Returns the differences, and the faults of the log. */
export async function compareWithLog(readBenchLog: ReadBenchLog, replies: FleetReplies): Promise<string[]> {
  const logged = { granted: new Map<string, string[]>(), completed: new Map<string, string[]>() };
  const faults = await readBenchLog((event) => {
    const kind = REPLY_KIND_OF_EVENT[event.event_type as keyof typeof REPLY_KIND_OF_EVENT];
    if (kind === undefined) return;
    const { project_id, task_id = '', session_id = '', generation = 0 } = event;
    const task = `${project_id}/${task_id}`;
    const list = logged[kind].get(task) ?? [];
    logged[kind].set(task, [...list, describeRecord({ project_id, task_id, session_id, generation })]);
  });
  const differences = (['granted', 'completed'] as const).flatMap((kind) =>
    compareKind(kind, logged[kind], replies[kind], replies.unanswered),
  );
  return [...faults, ...differences];
}

const describeRecord = ({ project_id, task_id, session_id, generation }: ReplyRecord): string =>
  `${project_id}/${task_id} to ${session_id} as generation ${generation}`;

/**
 * No task is released in these runs, so each is granted and completed at most once, by the agent that received the reply.
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
