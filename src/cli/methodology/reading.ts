import type { Caller } from '../../coordinator/caller.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { UNEXPLAINED } from '../../stores/file/redacted-lines.js';
import { skimLog } from '../../stores/file/skim.js';
import { refuseForeign } from '../../workspace/foreign.js';
import { mayHaveChanged } from '../../workspace/scan/changed.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure } from '../exit.js';
import type { Calls } from './calls.js';
import { Glance } from './glance.js';
import type { InProcess } from './in-process.js';

/** Answers from what the log holds now. The log stays its writer's: nothing is locked, nothing written. */
export async function openReading(workspace: Workspace, caller: Caller): Promise<InProcess> {
  await refuseForeign(workspace);
  const copy = () => openCopy(workspace, caller);
  const glance = await shown(workspace.events, () => new Glance());
  return (await isUpToDate(workspace, glance)) ? withCopy(glance, copy) : copy();
}

interface Onlooker {
  see(event: EventEnvelope): void;
}

/** Shows the log to whoever looks on: at a glance, and where that will not do, anew and with care. */
async function shown<T extends Onlooker>(folder: string, onlooker: () => T): Promise<T> {
  const quick = onlooker();
  if (await skimLog(nodeDisk, folder, (event) => quick.see(event))) return quick;
  const { readLog } = await import('../verify/read-log.js');
  const careful = onlooker();
  const { damage, unexplained } = await readLog({ folder }, ({ event }) => careful.see(event));
  const [changed] = unexplained.map((place) => ({ ...place, why: UNEXPLAINED }));
  const fault = damage ?? changed;
  if (fault === undefined) return careful;
  const { file, line, why } = fault;
  throw new CommandFailure(
    `${file}, line ${line}: ${why}. What can be saved is told by: gen verify ${folder}`,
  );
}

/**
 * Whether the log has what the files say. Where they are older than their last load they need not be read; after a clone
 * or a touch they are younger, and mostly say the same.
 */
async function isUpToDate(workspace: Workspace, glance: Glance): Promise<boolean> {
  const { configured_ms } = glance;
  if (configured_ms === null) return false;
  if (!(await mayHaveChanged(workspace, configured_ms))) return true;
  const { readFiles } = await import('../../workspace/read-files.js');
  const { readMethodology } = await import('../../core/graph/read-methodology.js');
  const { saidAnew } = await import('../../core/graph/said-anew.js');
  const reading = readMethodology(await readFiles(workspace));
  if (!reading.ok) return false;
  const { methodology, features } = saidAnew(reading, glance);
  return !methodology && features.length === 0;
}

class Everything implements Onlooker {
  readonly events: EventEnvelope[] = [];

  see(event: EventEnvelope): void {
    this.events.push(event);
  }
}

/** A coordinator over a copy in memory, which also takes in what the files say and the log does not yet. */
async function openCopy(workspace: Workspace, caller: Caller): Promise<InProcess> {
  const { openInProcess } = await import('./in-process.js');
  const { openMemoryStore } = await import('../../stores/memory/memory-store.js');
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { readFiles } = await import('../../workspace/read-files.js');
  const store = openMemoryStore();
  store.restore((await shown(workspace.events, () => new Everything())).events);
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
