import { findLogs } from '../../../src/cli/verify/find-logs.js';
import { readLog } from '../../../src/cli/verify/read-log.js';
import { verifyLog } from '../../../src/cli/verify/verify-log.js';
import type { Told, Word } from './fleet-replies.js';

const KEPT = { CLAIM_ACQUIRED: 'granted', RESULT_SUBMITTED: 'completed' } as const;

/** Compares the replies that the agents received with the log. Empty: they agree. */
export async function verdict(root: string, told: Told): Promise<string[]> {
  const faults: string[] = [];
  const logged = { granted: new Map<string, string[]>(), completed: new Map<string, string[]>() };
  for (const place of (await findLogs(root)) ?? []) {
    const { breaks } = await verifyLog(place, () => {});
    faults.push(...breaks.map(({ rule, subject, says }) => `${rule} ${subject ?? ''}: ${says}`));
    await readLog(place, ({ event }) => {
      const kind = KEPT[event.event_type as keyof typeof KEPT];
      if (kind === undefined) return;
      const { project_id, task_id = '', session_id = '', generation = 0 } = event;
      const task = `${project_id}/${task_id}`;
      const list = logged[kind].get(task) ?? [];
      logged[kind].set(task, [...list, whose({ project_id, task_id, session_id, generation })]);
    });
  }
  for (const kind of ['granted', 'completed'] as const) {
    faults.push(...compared(kind, logged[kind], told[kind], told.unanswered));
  }
  return faults;
}

const whose = ({ project_id, task_id, session_id, generation }: Word): string =>
  `${project_id}/${task_id} to ${session_id} as generation ${generation}`;

/**
 * No task is released in these runs, so each is granted once and completed once, to the agent that received the reply.
 */
function compared(
  kind: 'granted' | 'completed',
  logged: ReadonlyMap<string, readonly string[]>,
  told: readonly Word[],
  unanswered: number,
): string[] {
  const faults: string[] = [];
  for (const [task, words] of logged) if (words.length > 1) faults.push(`${task} was ${kind} twice`);
  const inLog = new Set([...logged.values()].flat());
  const heard = new Set(told.map(whose));
  for (const word of heard) if (!inLog.has(word)) faults.push(`${word}: told ${kind}, lost from the log`);
  const untold = [...inLog].filter((word) => !heard.has(word));
  if (untold.length > unanswered)
    faults.push(...untold.map((word) => `${word}: ${kind}, and its agent was not told`));
  return faults;
}
