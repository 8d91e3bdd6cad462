import type { Caller } from '../../coordinator/caller.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { UNEXPLAINED } from '../../stores/file/redacted-lines.js';
import { readLogUnverified } from '../../stores/file/unverified-reader.js';
import { refuseForeign } from '../../workspace/foreign.js';
import { mayHaveChanged } from '../../workspace/scan/changed.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure } from '../exit.js';
import type { ProjectCalls } from './calls.js';
import type { OpenedProject } from './in-process.js';
import { StatusProjection } from './status-projection.js';

/** Answers from what the log holds now. The log stays its writer's: nothing is locked, nothing written. */
export async function openReadOnly(workspace: Workspace, caller: Caller): Promise<OpenedProject> {
  await refuseForeign(workspace);
  const openCopyOfLog = () => openCoordinatorCopy(workspace, caller);
  const projection = await replayLog(workspace.events, () => new StatusProjection());
  return (await isUpToDate(workspace, projection))
    ? withLazyCoordinator(projection, openCopyOfLog)
    : openCopyOfLog();
}

interface EventVisitor {
  visit(event: EventEnvelope): void;
}

/** Shows the log to whoever looks on: at a glance, and where that will not do, anew and with care. */
async function replayLog<T extends EventVisitor>(folder: string, createVisitor: () => T): Promise<T> {
  const skimmed = createVisitor();
  if (await readLogUnverified(nodeDisk, folder, (event) => skimmed.visit(event))) return skimmed;
  const { readLog } = await import('../verify/read-log.js');
  const verified = createVisitor();
  const { damage, unexplained } = await readLog({ folder }, ({ event }) => verified.visit(event));
  const [changed] = unexplained.map((position) => ({ ...position, why: UNEXPLAINED }));
  const fault = damage ?? changed;
  if (fault === undefined) return verified;
  const { file, line, why } = fault;
  throw new CommandFailure(
    `${file}, line ${line}: ${why}. What can be saved is told by: gen verify ${folder}`,
  );
}

/**
 * Whether the log has what the files say. Where they are older than their last load they need not be read; after a clone
 * or a touch they are younger, and mostly say the same.
 */
async function isUpToDate(workspace: Workspace, projection: StatusProjection): Promise<boolean> {
  const { configuredAtMs } = projection;
  if (configuredAtMs === null) return false;
  if (!(await mayHaveChanged(workspace, configuredAtMs))) return true;
  const { readWorkspaceFiles: readFiles } = await import('../../workspace/read-files.js');
  const { parseMethodology: readMethodology } = await import('../../core/graph/read-methodology.js');
  const { diffConfig: saidAnew } = await import('../../core/graph/config-diff.js');
  const parsed = readMethodology(await readFiles(workspace));
  if (!parsed.ok) return false;
  const { methodology, features } = saidAnew(parsed, projection);
  return !methodology && features.length === 0;
}

class EventCollector implements EventVisitor {
  readonly events: EventEnvelope[] = [];

  visit(event: EventEnvelope): void {
    this.events.push(event);
  }
}

/** A coordinator over a copy in memory, which also takes in what the files say and the log does not yet. */
async function openCoordinatorCopy(workspace: Workspace, caller: Caller): Promise<OpenedProject> {
  const { openInProcess } = await import('./in-process.js');
  const { openMemoryStore } = await import('../../stores/memory/memory-store.js');
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { readWorkspaceFiles: readFiles } = await import('../../workspace/read-files.js');
  const store = openMemoryStore();
  store.restore((await replayLog(workspace.events, () => new EventCollector())).events);
  return openInProcess(await readFiles(workspace), { store, key: await readProjectKey(workspace), caller });
}

/** What is asked most is told at once; for the rest a coordinator is opened when it is asked for. */
function withLazyCoordinator(
  projection: StatusProjection,
  open: () => Promise<OpenedProject>,
): OpenedProject {
  let opened: Promise<OpenedProject> | null = null;
  const openOnce = () => (opened ??= open());
  const localCalls: Pick<ProjectCalls, 'status'> = { status: async () => projection.status() };
  const calls = new Proxy(localCalls as ProjectCalls, {
    get: (_, name: keyof ProjectCalls) =>
      localCalls[name as 'status'] ??
      (async (request: never) => ((await openOnce()).calls[name] as (request: never) => unknown)(request)),
  });
  return {
    calls,
    plan: () => projection.plan(),
    title: projection.title,
    close: async () => (await opened)?.close(),
  };
}
