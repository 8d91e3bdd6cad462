import type { Caller } from '../../coordinator/caller.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure } from '../exit.js';
import { readLog } from '../verify/read-log.js';
import type { Calls } from './calls.js';

export interface OpenReading {
  readonly calls: Calls;
  close(): void;
}

/** Answers from what the log holds now. The log stays its writer's: nothing is locked, nothing written. */
export async function openReading(workspace: Workspace, caller: Caller): Promise<OpenReading> {
  const events = await eventsOf(workspace.events);
  const { openInProcess } = await import('./in-process.js');
  const { openMemoryStore } = await import('../../stores/memory/memory-store.js');
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const store = openMemoryStore();
  store.restore(events);
  return openInProcess(workspace, { store, key: await readProjectKey(workspace), caller });
}

export async function eventsOf(folder: string): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  const { damage } = await readLog({ folder }, ({ event }) => events.push(event));
  if (damage === null) return events;
  const { file, line, why } = damage;
  throw new CommandFailure(
    `${file}, line ${line}: ${why}. What can be saved is told by: gen verify ${folder}`,
  );
}
