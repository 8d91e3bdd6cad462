import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import {
  type ForeignReport,
  type ForeignTarget,
  importForeign,
} from '../../coordinator/transfer/import-foreign.js';
import { commitImported } from '../../coordinator/transfer/imported-events.js';
import { parseMethodology } from '../../core/methodology/definition/read-methodology.js';
import { ACTIVE_FILE } from '../../stores/file/layout.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { adoptForeignLog } from '../../workspace/adopt-foreign.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { readWorkspaceFiles } from '../../workspace/read-files.js';
import { openWorkspaceStore } from '../../workspace/store.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode, wrongUsage } from '../exit.js';

import { withStore } from '../open-store.js';
import { startProgress } from '../output/progress.js';
import { countText, singleLine } from '../output/text.js';
import { unwrapReply } from '../replies.js';
import { defaultStore } from '../store.js';

export interface ForeignOptions {
  readonly foreign: string;
  readonly store?: string;
  readonly dryRun?: true;
}

/** Imports another tool's log into the given store, to the given server, or into this workspace. */
export async function importForeignFile(context: CommandContext, options: ForeignOptions): Promise<void> {
  const file = resolve(context.io.cwd, options.foreign);
  const workspace = Workspace.find(context.io.cwd);
  const key = await resolveProjectKey(context, workspace);
  const files = await resolveLogFiles(file, workspace, options);
  const job: ForeignImportJob = { context, key, files, known_edges: await readKnownEdges(workspace) };
  const reports = await importToDestination(job, workspace, options);
  context.show(reports.length === 1 ? reports[0] : reports, () =>
    reports.map((report) => reportText(report, options.dryRun === true)).join('\n'),
  );
}

interface ForeignImportJob {
  readonly context: CommandContext;
  readonly key: ProjectKey;
  readonly files: readonly string[];
  readonly known_edges: ReadonlySet<string>;
}

async function importToDestination(
  job: ForeignImportJob,
  workspace: Workspace | null,
  options: ForeignOptions,
): Promise<ForeignReport[]> {
  const { context, key } = job;
  if (options.dryRun === true) return importFiles(job, null);
  if (options.store === undefined && context.explicitUrl !== null)
    return importFiles(job, await serverTarget(context, key));
  if (options.store === undefined && workspace !== null) return importToWorkspace(job, workspace);
  return withStore(context, options.store ?? defaultStore(context.io), ({ store, blobs }) =>
    importFiles(job, {
      put: (events) => commitImported(store, key, events),
      putBlob: (sha256, bytes) => blobs.put(key.tenant_id, sha256, bytes),
    }),
  );
}

async function importToWorkspace(job: ForeignImportJob, workspace: Workspace): Promise<ForeignReport[]> {
  const warn = (sentence: string) => job.context.printNotice(singleLine(sentence));
  const { store, blobs, key } = await openWorkspaceStore(workspace, warn);
  try {
    return await importFiles(job, {
      put: (events) => commitImported(store as Store, key, events),
      putBlob: (sha256, bytes) => blobs.put(key.tenant_id, sha256, bytes),
    });
  } finally {
    await store.close();
  }
}

async function serverTarget(
  context: CommandContext,
  { tenant_id: tenant, project_id: project }: ProjectKey,
): Promise<ForeignTarget> {
  const genesis = await context.genesisAt({ url: context.url, tenant, project });
  return {
    put: async (events) =>
      unwrapReply(
        await genesis.importEvents(events.map(({ tenant_id: _, project_id: __, ...event }) => event)),
      ),
    putBlob: async (sha256, bytes) => {
      unwrapReply(await genesis.putBlob(sha256, bytes));
    },
  };
}

async function importFiles(job: ForeignImportJob, target: ForeignTarget | null): Promise<ForeignReport[]> {
  const { context, key, files, known_edges } = job;
  const reports: ForeignReport[] = [];
  const spinner = startProgress(context.io, 'reading');
  try {
    for (const file of files) {
      const onRead = (lines: number) => spinner.update(countText(lines, 'line'));
      const importOptions = { ...key, source: basename(file), now_ms: Date.now(), known_edges, onRead };
      reports.push(await importForeign(createReadStream(file), target, importOptions));
    }
  } finally {
    spinner.stop();
  }
  return reports;
}

/** The file to import. If it is at the path of the workspace's own log, it is moved away first. */
async function resolveLogFiles(
  file: string,
  workspace: Workspace | null,
  options: ForeignOptions,
): Promise<string[]> {
  const isOwnLog = workspace !== null && file === join(workspace.events, ACTIVE_FILE);
  if (isOwnLog && options.dryRun !== true) {
    const moved = await adoptForeignLog(workspace);
    if (moved.length > 0) return moved;
    throw new CommandFailure(
      `${singleLine(file)} is this workspace’s own log: there is nothing to bring in.`,
    );
  }
  const found = await stat(file).catch(() => null);
  if (found?.isFile() !== true)
    throw failureWithCode('FILE_UNREADABLE', `There is no file ${singleLine(file)}.`);
  return [file];
}

async function resolveProjectKey(context: CommandContext, workspace: Workspace | null): Promise<ProjectKey> {
  const project_id = context.explicitProject;
  if (project_id !== null) return { tenant_id: context.tenant, project_id };
  if (workspace !== null) return readProjectKey(workspace);
  throw wrongUsage('Into which project? Say --project NAME, or go into a workspace.');
}

async function readKnownEdges(workspace: Workspace | null): Promise<ReadonlySet<string>> {
  const workspaceFiles = workspace === null ? new Map<string, string>() : await readWorkspaceFiles(workspace);
  const parsed = parseMethodology(workspaceFiles);
  const { methodology } = parsed.ok ? parsed : (parseMethodology(new Map()) as typeof parsed & { ok: true });
  return new Set(methodology.topology.transitions.map(({ edge }) => edge));
}

function reportText(report: ForeignReport, isDry: boolean): string {
  const { source, read, written, already_there, unplaced, unplaced_count } = report;
  const done = isDry ? 'nothing was written' : `${written} written, ${already_there} there already`;
  const lines = [`${singleLine(source)}: ${countText(read, 'line')} read, ${done}.`];
  const pushCounts = (title: string, counts: Readonly<Record<string, number>>) => {
    const names = Object.entries(counts).map(([name, times]) => `${singleLine(name)} (${times})`);
    if (names.length > 0) lines.push(`  ${title}: ${names.slice(0, 20).join(', ')}`);
  };
  pushCounts('types nobody knows', report.unknown_types);
  pushCounts('edges that are not in the graph', report.edges_unknown);
  pushCounts('projects named in it', report.projects_seen);
  if (unplaced_count > 0) lines.push(`  ${unplaced_count} kept as they were, for they say no event:`);
  for (const { line, why } of unplaced.slice(0, 20)) lines.push(`    line ${line}: ${singleLine(why)}`);
  return lines.join('\n');
}
