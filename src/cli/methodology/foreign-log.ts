import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { OPEN_CALLER } from '../../coordinator/caller.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { foreignEvents } from '../../core/events/foreign-log.js';
import { HEADER } from '../../stores/file/line.js';
import { openMemoryStore } from '../../stores/memory/memory-store.js';
import { readFiles } from '../../workspace/read-files.js';
import { Workspace } from '../../workspace/workspace.js';
import type { Context } from '../context.js';
import { CommandFailure, failed } from '../exit.js';
import { readLog } from '../verify/read-log.js';
import type { Reading } from './calls.js';
import type { Door } from './door.js';
import { type InProcess, openInProcess } from './in-process.js';

const KEY = { tenant_id: 'default', project_id: 'foreign' };
const BYTES_MAX = 512 * 1024 * 1024;

/** Looks at a log of another tool, or at a copy of one of ours, with what its own workspace says beside it. */
export async function withForeignLog(
  context: Context,
  named: string,
  work: (door: Door<Reading>) => Promise<void>,
): Promise<void> {
  const file = resolve(context.io.cwd, named);
  const events = await eventsIn(file);
  const store = openMemoryStore();
  store.restore(events);
  const { tenant_id, project_id } = events[0] ?? KEY;
  const place = { store, key: { tenant_id, project_id }, caller: OPEN_CALLER };
  const opened = await openBeside(context, Workspace.find(dirname(file)), featuresIn(events), place);
  try {
    await work({ calls: opened.calls, workspace: null, title: basename(file), plan: () => opened.plan() });
  } finally {
    await opened.close();
  }
}

type Files = ReadonlyMap<string, string>;

/** A workspace of another tool may say what this one cannot read: then its log is looked at by the built-in graph. */
async function openBeside(
  context: Context,
  workspace: Workspace | null,
  named: Files,
  place: Parameters<typeof openInProcess>[1],
): Promise<InProcess> {
  if (workspace === null) return openInProcess(named, place);
  try {
    return await openInProcess(new Map([...named, ...(await readFiles(workspace))]), place);
  } catch (error) {
    if (!(error instanceof CommandFailure) && (error as Error).name !== 'WorkspaceRefused') throw error;
    context.remark(`The built-in graph stands in for ${workspace.folder}: ${(error as Error).message}`);
    return openInProcess(named, place);
  }
}

const FEATURE_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
const FEATURES_MAX = 1000;

/** Nobody may have defined what the log speaks of: each feature of it gets a vector that says no more than its name. */
function featuresIn(events: readonly EventEnvelope[]): Files {
  const named = new Set(events.map(({ feature_id = '' }) => feature_id));
  const ids = [...named].filter((id) => FEATURE_ID.test(id)).slice(0, FEATURES_MAX);
  return new Map(
    ids.map((id) => [`features/active/${id}.yml`, `feature: ${JSON.stringify(id)}\ntitle: ""\n`]),
  );
}

async function eventsIn(file: string): Promise<EventEnvelope[]> {
  const found = await stat(file).catch(() => null);
  if (found === null || !found.isFile()) throw failed('FILE_UNREADABLE', `There is no file ${file}.`);
  if (found.size > BYTES_MAX)
    throw new CommandFailure(`${file} has more than ${BYTES_MAX} bytes. Import it instead.`);
  const bytes = await readFile(file);
  if (bytes.subarray(0, HEADER.length).equals(HEADER)) return ownEvents(file);
  const log = { ...KEY, source: basename(file), now_ms: Date.now() };
  return [...foreignEvents(bytes.toString('utf8').split('\n'), log, idOf)];
}

async function ownEvents(file: string): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  const { damage } = await readLog({ file }, ({ event }) => events.push(event));
  if (damage !== null) throw new CommandFailure(`${file}, line ${damage.line}: ${damage.why}.`);
  return events;
}

/** Only to tell lines apart: nothing that is looked at here is ever written. */
const idOf = (text: string, occurrence: number): string =>
  createHash('sha256').update(`${occurrence}\n${text}`).digest('hex').slice(0, 32);
