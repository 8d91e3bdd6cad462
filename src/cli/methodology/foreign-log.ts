import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { foreignEventIdFor } from '../../coordinator/runtime/identity.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { foreignEvents } from '../../core/events/foreign-log.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import type { WorkspaceTexts } from '../../core/methodology/definition/read/workspace-files.js';
import { isOwnLog } from '../../stores/file/own-log.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { linesText } from '../../stores/store.js';
import { FIRST_LINES_BYTES } from '../../workspace/foreign.js';
import { readWorkspaceFiles } from '../../workspace/read-files.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode } from '../exit.js';
import { readLog } from '../verify/read-log.js';
import { openInProcess } from './in-process.js';
import type { OpenedProject, ReadOnlyCalls } from './opened-project.js';
import type { ProjectConnection } from './project-connection.js';

const FOREIGN_PROJECT_KEY = { tenant_id: 'default', project_id: 'foreign' };
const BYTES_MAX = 512 * 1024 * 1024;

/** Opens another tool's log, or a copy of one of our logs, read-only, with the files of the workspace that contains it. */
export async function withForeignLog(
  context: CommandContext,
  logPath: string,
  work: (connection: ProjectConnection<ReadOnlyCalls>) => Promise<void>,
): Promise<void> {
  const file = resolve(context.io.cwd, logPath);
  const events = await readEventFile(file);
  const store = openMemoryStore();
  store.restore(events);
  const { tenant_id, project_id } = events[0] ?? FOREIGN_PROJECT_KEY;
  const options = { store, key: { tenant_id, project_id }, user: context.io.user };
  const open = ({ files, unreadable }: WorkspaceTexts) =>
    openInProcess({ files: new Map([...placeholderFeatures(events), ...files]), unreadable }, options);
  const opened = await openWithWorkspaceFiles(context, Workspace.find(dirname(file)), open);
  try {
    await work({ ...opened, workspace: null, title: basename(file) });
  } finally {
    await opened.close();
  }
}

type FileTexts = ReadonlyMap<string, string>;

const NO_FILES: WorkspaceTexts = { files: new Map(), unreadable: new Map() };

/** Opens the project with the files of that workspace; with the built-in graph if there is none or its files are invalid. */
async function openWithWorkspaceFiles(
  context: CommandContext,
  workspace: Workspace | null,
  open: (texts: WorkspaceTexts) => Promise<OpenedProject>,
): Promise<OpenedProject> {
  if (workspace === null) return open(NO_FILES);
  try {
    return await open(await readWorkspaceFiles(workspace));
  } catch (error) {
    if (!(error instanceof CommandFailure) && (error as Error).name !== 'WorkspaceError') throw error;
    context.printNotice(`Using the built-in graph, not ${workspace.folder}: ${(error as Error).message}`);
    return open(NO_FILES);
  }
}

const FEATURE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
const FEATURES_MAX = 1000;

/** A feature without a title for each feature that the log mentions, because its files may not define it. */
function placeholderFeatures(events: readonly EventEnvelope[]): FileTexts {
  const mentioned = new Set(events.map(({ feature_id = '' }) => feature_id));
  const ids = [...mentioned].filter((id) => FEATURE_ID.test(id)).slice(0, FEATURES_MAX);
  return new Map(
    ids.map((id) => [`features/active/${id}.yml`, `feature: ${JSON.stringify(id)}\ntitle: ""\n`]),
  );
}

async function readEventFile(file: string): Promise<EventEnvelope[]> {
  const stats = await stat(file).catch(() => null);
  if (stats === null || !stats.isFile())
    throw failureWithCode('FILE_UNREADABLE', `File not found: ${file}. Check --log.`);
  if (stats.size > BYTES_MAX)
    throw new CommandFailure(
      `${file} has more than ${BYTES_MAX} bytes. Import it: ${genCommand('import', '--foreign', file)}`,
    );
  const bytes = await readFile(file);
  if (isOwnLog(bytes.subarray(0, FIRST_LINES_BYTES))) return readOwnEvents(file);
  const log = { ...FOREIGN_PROJECT_KEY, source: basename(file), now_ms: Date.now() };
  return [...foreignEvents(bytes.toString('utf8').split('\n'), log, foreignEventIdFor(log))];
}

async function readOwnEvents(file: string): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  const { damage } = await readLog({ file }, ({ event }) => events.push(event));
  if (damage !== null) throw new CommandFailure(`${file}, ${linesText(damage)}: ${damage.why}.`);
  return events;
}
