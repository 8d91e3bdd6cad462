import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import {
  type ForeignReport,
  type ForeignTarget,
  importForeign,
} from '../../coordinator/transfer/import-foreign.js';
import { commitImported } from '../../coordinator/transfer/imported-events.js';
import { readMethodology } from '../../core/graph/read-methodology.js';
import { ACTIVE_FILE } from '../../stores/file/layout.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { adoptForeignLog } from '../../workspace/adopt-foreign.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { readFiles } from '../../workspace/read-files.js';
import { openWorkspaceStore } from '../../workspace/store.js';
import { Workspace } from '../../workspace/workspace.js';
import type { Context } from '../context.js';
import { CommandFailure, failed, wrongUsage } from '../exit.js';

import { withStore } from '../open-store.js';
import { progress } from '../output/progress.js';
import { count, plainText } from '../output/text.js';
import { expected } from '../replies.js';
import { defaultStore } from '../store.js';

export interface ForeignOptions {
  readonly foreign: string;
  readonly store?: string;
  readonly dryRun?: true;
}

/** Brings the log of another tool in: into the store that was named, to the server that was, or into this workspace. */
export async function importForeignFile(context: Context, options: ForeignOptions): Promise<void> {
  const file = resolve(context.io.cwd, options.foreign);
  const workspace = Workspace.find(context.io.cwd);
  const key = await keyOf(context, workspace);
  const files = await logsAt(file, workspace, options);
  const into: Into = { context, key, files, known_edges: await edgesOf(workspace) };
  const reports = await place(into, workspace, options);
  context.show(reports.length === 1 ? reports[0] : reports, () =>
    reports.map((report) => reportText(report, options.dryRun === true)).join('\n'),
  );
}

interface Into {
  readonly context: Context;
  readonly key: ProjectKey;
  readonly files: readonly string[];
  readonly known_edges: ReadonlySet<string>;
}

async function place(
  into: Into,
  workspace: Workspace | null,
  options: ForeignOptions,
): Promise<ForeignReport[]> {
  const { context, key } = into;
  if (options.dryRun === true) return bring(into, null);
  if (options.store === undefined && context.named_url !== null)
    return bring(into, await toServer(context, key));
  if (options.store === undefined && workspace !== null) return intoWorkspace(into, workspace);
  return withStore(context, options.store ?? defaultStore(context.io), ({ store, blobs }) =>
    bring(into, {
      put: (events) => commitImported(store, key, events),
      putBlob: (sha256, bytes) => blobs.put(key.tenant_id, sha256, bytes),
    }),
  );
}

async function intoWorkspace(into: Into, workspace: Workspace): Promise<ForeignReport[]> {
  const warn = (sentence: string) => into.context.remark(plainText(sentence));
  const { store, blobs, key } = await openWorkspaceStore(workspace, warn);
  try {
    return await bring(into, {
      put: (events) => commitImported(store as Store, key, events),
      putBlob: (sha256, bytes) => blobs.put(key.tenant_id, sha256, bytes),
    });
  } finally {
    await store.close();
  }
}

async function toServer(
  context: Context,
  { tenant_id: tenant, project_id: project }: ProjectKey,
): Promise<ForeignTarget> {
  const genesis = await context.genesisAt({ url: context.url, tenant, project });
  return {
    put: async (events) =>
      expected(await genesis.importEvents(events.map(({ tenant_id: _, project_id: __, ...event }) => event))),
    putBlob: async (sha256, bytes) => {
      expected(await genesis.putBlob(sha256, bytes));
    },
  };
}

async function bring(into: Into, target: ForeignTarget | null): Promise<ForeignReport[]> {
  const { context, key, files, known_edges } = into;
  const reports: ForeignReport[] = [];
  const waiting = progress(context.io, 'reading');
  try {
    for (const file of files) {
      const onRead = (lines: number) => waiting.say(count(lines, 'line'));
      const asked = { ...key, source: basename(file), now_ms: Date.now(), known_edges, onRead };
      reports.push(await importForeign(createReadStream(file), target, asked));
    }
  } finally {
    waiting.stop();
  }
  return reports;
}

/** The file; where it lies in the place of the workspace's own log, it is moved out of the way first. */
async function logsAt(file: string, workspace: Workspace | null, options: ForeignOptions): Promise<string[]> {
  const is_own_place = workspace !== null && file === join(workspace.events, ACTIVE_FILE);
  if (is_own_place && options.dryRun !== true) {
    const moved = await adoptForeignLog(workspace);
    if (moved.length > 0) return moved;
    throw new CommandFailure(`${plainText(file)} is this workspace’s own log: there is nothing to bring in.`);
  }
  const found = await stat(file).catch(() => null);
  if (found?.isFile() !== true) throw failed('FILE_UNREADABLE', `There is no file ${plainText(file)}.`);
  return [file];
}

async function keyOf(context: Context, workspace: Workspace | null): Promise<ProjectKey> {
  const project_id = context.named_project;
  if (project_id !== null) return { tenant_id: context.tenant, project_id };
  if (workspace !== null) return readProjectKey(workspace);
  throw wrongUsage('Into which project? Say --project NAME, or go into a workspace.');
}

async function edgesOf(workspace: Workspace | null): Promise<ReadonlySet<string>> {
  const own = workspace === null ? new Map<string, string>() : await readFiles(workspace);
  const read = readMethodology(own);
  const { methodology } = read.ok ? read : (readMethodology(new Map()) as typeof read & { ok: true });
  return new Set(methodology.topology.transitions.map(({ edge }) => edge));
}

function reportText(report: ForeignReport, is_dry: boolean): string {
  const { source, read, written, already_there, unplaced, unplaced_count } = report;
  const done = is_dry ? 'nothing was written' : `${written} written, ${already_there} there already`;
  const lines = [`${plainText(source)}: ${count(read, 'line')} read, ${done}.`];
  const named = (title: string, counts: Readonly<Record<string, number>>) => {
    const names = Object.entries(counts).map(([name, times]) => `${plainText(name)} (${times})`);
    if (names.length > 0) lines.push(`  ${title}: ${names.slice(0, 20).join(', ')}`);
  };
  named('types nobody knows', report.unknown_types);
  named('edges that are not in the graph', report.edges_unknown);
  named('projects named in it', report.projects_seen);
  if (unplaced_count > 0) lines.push(`  ${unplaced_count} kept as they were, for they say no event:`);
  for (const { line, why } of unplaced.slice(0, 20)) lines.push(`    line ${line}: ${plainText(why)}`);
  return lines.join('\n');
}
