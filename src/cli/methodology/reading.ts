import type { Caller } from '../../coordinator/caller.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { mayHaveChanged } from '../../workspace/scan/changed.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure } from '../exit.js';
import { readLog } from '../verify/read-log.js';
import type { Calls } from './calls.js';
import type { InProcess } from './in-process.js';

/** Answers from what the log holds now. The log stays its writer's: nothing is locked, nothing written. */
export async function openReading(workspace: Workspace, caller: Caller): Promise<InProcess> {
  const events = await eventsOf(workspace.events);
  const copy = () => openCopy(workspace, events, caller);
  const configured_ms = lastConfigured(events);
  if (configured_ms === null || (await mayHaveChanged(workspace, configured_ms))) return copy();
  const { lookAt } = await import('./glance.js');
  return withCopy(lookAt(events), copy);
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

/** When the workspace's files were last taken into the log; null: never. */
function lastConfigured(events: readonly EventEnvelope[]): number | null {
  const last = events.findLast(({ event_type }) => CONFIGURING.has(event_type));
  const is_initialized = events.some(({ event_type }) => event_type === 'METHODOLOGY_CHANGED');
  return last === undefined || !is_initialized ? null : Date.parse(last.timestamp);
}

const CONFIGURING: ReadonlySet<string> = new Set(['METHODOLOGY_CHANGED', 'FEATURE_CHANGED']);

/** A coordinator over a copy in memory, which also takes in what the files say and the log does not yet. */
async function openCopy(
  workspace: Workspace,
  events: readonly EventEnvelope[],
  caller: Caller,
): Promise<InProcess> {
  const { openInProcess } = await import('./in-process.js');
  const { openMemoryStore } = await import('../../stores/memory/memory-store.js');
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { readFiles } = await import('../../workspace/read-files.js');
  const store = openMemoryStore();
  store.restore(events);
  return openInProcess(await readFiles(workspace), { store, key: await readProjectKey(workspace), caller });
}

type Glance = Pick<InProcess, 'plan' | 'title'> & { readonly calls: Pick<Calls, 'status'> };

/** What is asked most is told at once; for the rest a coordinator is opened when it is asked for. */
function withCopy(glance: Glance, open: () => Promise<InProcess>): InProcess {
  let opened: Promise<InProcess> | null = null;
  const copy = () => (opened ??= open());
  const calls = new Proxy(glance.calls as Calls, {
    get: (own, name: keyof Calls) =>
      own[name] ?? (async (asked: never) => ((await copy()).calls[name] as (asked: never) => unknown)(asked)),
  });
  const { plan, title } = glance;
  return { calls, plan, title, close: async () => (await opened)?.close() };
}
