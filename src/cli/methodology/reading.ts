import type { Caller } from '../../coordinator/caller.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { skimLine } from '../../stores/file/line.js';
import { mayHaveChanged } from '../../workspace/scan/changed.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure } from '../exit.js';
import { readLog } from '../verify/read-log.js';
import type { Calls } from './calls.js';
import { Glance } from './glance.js';
import type { InProcess } from './in-process.js';

/** Answers from what the log holds now. The log stays its writer's: nothing is locked, nothing written. */
export async function openReading(workspace: Workspace, caller: Caller): Promise<InProcess> {
  const copy = () => openCopy(workspace, caller);
  const glance = new Glance();
  await look(workspace.events, (event) => glance.see(event));
  return (await isUpToDate(workspace, glance)) ? withCopy(glance, copy) : copy();
}

/**
 * Every event of the log, in order. Lines must follow each other without a gap and end where the log was known to
 * reach, so that a torn or missing part is noticed; their digests are not worked out, which would take as long as all
 * the rest. `gen verify` works them out, and so does everybody who opens the log to write.
 */
async function look(folder: string, see: (event: EventEnvelope) => void): Promise<void> {
  const { damage } = await readLog({ folder }, ({ event }) => see(event), skimLine);
  if (damage === null) return;
  const { file, line, why } = damage;
  throw new CommandFailure(
    `${file}, line ${line}: ${why}. What can be saved is told by: gen verify ${folder}`,
  );
}

/** Whether the log has what the files say. Where they are older than their last load, they need not be read. */
async function isUpToDate(workspace: Workspace, glance: Glance): Promise<boolean> {
  const { configured_ms } = glance;
  if (configured_ms === null) return false;
  return !(await mayHaveChanged(workspace, configured_ms));
}

/** A coordinator over a copy in memory, which also takes in what the files say and the log does not yet. */
async function openCopy(workspace: Workspace, caller: Caller): Promise<InProcess> {
  const { openInProcess } = await import('./in-process.js');
  const { openMemoryStore } = await import('../../stores/memory/memory-store.js');
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { readFiles } = await import('../../workspace/read-files.js');
  const store = openMemoryStore();
  const events: EventEnvelope[] = [];
  await look(workspace.events, (event) => events.push(event));
  store.restore(events);
  return openInProcess(await readFiles(workspace), { store, key: await readProjectKey(workspace), caller });
}

/** What is asked most is told at once; for the rest a coordinator is opened when it is asked for. */
function withCopy(glance: Glance, open: () => Promise<InProcess>): InProcess {
  let opened: Promise<InProcess> | null = null;
  const copy = () => (opened ??= open());
  const own: Pick<Calls, 'status'> = { status: async () => glance.status() };
  const calls = new Proxy(own as Calls, {
    get: (_, name: keyof Calls) =>
      own[name as 'status'] ??
      (async (asked: never) => ((await copy()).calls[name] as (asked: never) => unknown)(asked)),
  });
  return {
    calls,
    plan: () => glance.plan(),
    title: glance.title,
    close: async () => (await opened)?.close(),
  };
}
