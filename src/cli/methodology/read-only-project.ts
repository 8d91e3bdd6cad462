import type { AtQuery } from '../../core/contract/schema.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { UNRECORDED_REDACTION } from '../../stores/file/redacted-lines.js';
import { type LogPoint, readLogUnverified } from '../../stores/file/unverified-reader.js';
import { linesText } from '../../stores/store.js';
import { assertOwnLog } from '../../workspace/foreign.js';
import { mayHaveChanged } from '../../workspace/scan/changed.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure } from '../exit.js';
import type { OpenedProject, ProjectCalls } from './opened-project.js';
import { StatusProjection } from './status-projection.js';
import { readStatusSummary, writeStatusSummary } from './status-summary.js';

/** Opens the project on the current content of its log, without locking or writing the log. */
export async function openReadOnly(
  workspace: Workspace,
  user: string | null,
  warn: (sentence: string) => void,
): Promise<OpenedProject> {
  await assertOwnLog(workspace);
  const openCopyOfLog = () => openCoordinatorCopy(workspace, user, warn);
  const projection = await readStatus(workspace.events);
  return (await isUpToDate(workspace, projection))
    ? withLazyCoordinator(projection, openCopyOfLog)
    : openCopyOfLog();
}

/** When this many events follow the last summary, a new one is written, so that later calls need not read these events. */
const EVENTS_AFTER_SUMMARY = 100;

/**
 * The projection of a log, from its summary and the events after it. Without a usable summary, or if a later event redacts
 * others, from all events.
 */
async function readStatus(folder: string): Promise<StatusProjection> {
  const summary = await readStatusSummary(folder);
  if (summary !== null) {
    const projection = StatusProjection.from(summary);
    const read = await readLogUnverified(nodeDisk, folder, (event) => projection.visit(event), summary.log);
    if (read !== null && !projection.hasRedaction) {
      await updateSummary(folder, projection, read.end, summary.log.position);
      return projection;
    }
  }
  return replayLog(
    folder,
    () => new StatusProjection(),
    (projection, end) => updateSummary(folder, projection, end, 0),
  );
}

async function updateSummary(
  folder: string,
  projection: StatusProjection,
  end: LogPoint | null,
  summarisedPosition: number,
): Promise<void> {
  if (end === null || end.position - summarisedPosition < EVENTS_AFTER_SUMMARY) return;
  await writeStatusSummary(folder, projection.summaryAt(end));
}

interface EventVisitor {
  visit(event: EventEnvelope): void;
}

/** Replays the log to a visitor: first unverified, and if that fails, again with full verification. */
async function replayLog<T extends EventVisitor>(
  folder: string,
  createVisitor: () => T,
  onUnverified: (visitor: T, end: LogPoint | null) => Promise<void> = async () => {},
): Promise<T> {
  const skimmed = createVisitor();
  const read = await readLogUnverified(nodeDisk, folder, (event) => skimmed.visit(event));
  if (read !== null) {
    await onUnverified(skimmed, read.end);
    return skimmed;
  }
  const { readLog } = await import('../verify/read-log.js');
  const verified = createVisitor();
  const { damage, unrecordedRedactions } = await readLog({ folder }, ({ event }) => verified.visit(event));
  const fault =
    damage ?? unrecordedRedactions.map((position) => ({ ...position, why: UNRECORDED_REDACTION }))[0];
  if (fault === undefined) return verified;
  throw new CommandFailure(
    `${fault.file}, ${linesText(fault)}: ${fault.why}. Verify the log: gen verify ${folder}`,
  );
}

/**
 * Whether the log contains the configuration in the files. Files that have not changed since their last load, by their times,
 * are not read. After a clone or a `touch` the times are newer, but the content is usually equal: the files are compared.
 */
async function isUpToDate(workspace: Workspace, projection: StatusProjection): Promise<boolean> {
  const { configuredAtMs } = projection;
  if (configuredAtMs === null) return false;
  if (!(await mayHaveChanged(workspace, configuredAtMs))) return true;
  const { readWorkspaceFiles } = await import('../../workspace/read-files.js');
  const { parseMethodology } = await import('../../core/methodology/definition/read-methodology.js');
  const { diffConfig } = await import('../../core/methodology/definition/config-diff.js');
  const { files, unreadable } = await readWorkspaceFiles(workspace);
  const parsed = parseMethodology(files, unreadable);
  if (!parsed.ok) return false;
  const { methodology, features } = diffConfig(parsed, projection);
  return !methodology && features.length === 0;
}

/** Opens a coordinator on an in-memory copy, and loads file changes that the log does not contain yet. */
async function openCoordinatorCopy(
  workspace: Workspace,
  user: string | null,
  warn: (sentence: string) => void,
): Promise<OpenedProject> {
  const { openInProcess } = await import('./in-process.js');
  const { openMemoryStore } = await import('../../stores/memory/memory-store.js');
  const { readProjectKey } = await import('../../workspace/project-file.js');
  const { readWorkspaceFiles } = await import('../../workspace/read-files.js');
  const { events } = await replayLog(workspace.events, () => {
    const events: EventEnvelope[] = [];
    return { events, visit: (event) => void events.push(event) };
  });
  const store = openMemoryStore();
  store.restore(events);
  const projectKey = await readProjectKey(workspace);
  const { FolderBlobs } = await import('../../stores/file/folder-blobs.js');
  const blobs = new FolderBlobs(workspace.events);
  return openInProcess(await readWorkspaceFiles(workspace), { store, blobs, key: projectKey, user, warn });
}

type StatusRequest = { agent_id?: string } & AtQuery;

/** Computes the current status from the projection, and opens a coordinator only for other calls. */
function withLazyCoordinator(
  projection: StatusProjection,
  open: () => Promise<OpenedProject>,
): OpenedProject {
  let opened: Promise<OpenedProject> | null = null;
  const openOnce = () => (opened ??= open());
  const calls = new Proxy({} as ProjectCalls, {
    get:
      (_, name: keyof ProjectCalls) =>
      async (...args: never[]) => {
        const [request = {}] = args as StatusRequest[];
        if (name === 'status' && request.at === undefined) return projection.status(request);
        return ((await openOnce()).calls[name] as (...args: never[]) => unknown)(...args);
      },
  });
  return {
    calls,
    plan: async (options = {}) =>
      options.at === undefined ? projection.plan() : (await openOnce()).plan(options),
    title: projection.title,
    blob: async (...request) => (await openOnce()).blob(...request),
    close: async () => (await opened)?.close(),
  };
}
