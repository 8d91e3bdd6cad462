import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import {
  type ForeignReport,
  type ForeignTarget,
  importForeign,
} from '../../coordinator/transfer/import-foreign.js';
import { commitImported } from '../../coordinator/transfer/imported-events.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import type { WorkspaceTexts } from '../../core/methodology/definition/read/workspace-files.js';
import { parseMethodology } from '../../core/methodology/definition/read-methodology.js';
import type { OpenedStore } from '../../server/store-url.js';
import { ACTIVE_FILE } from '../../stores/file/layout.js';
import type { ProjectKey } from '../../stores/store.js';
import { foreignFolderOf, type MovedForeignLogs, moveForeignLogAside } from '../../workspace/foreign.js';
import { readWorkspaceFiles } from '../../workspace/read-files.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode } from '../exit.js';
import type { Io } from '../io.js';
import { withStore } from '../open-store.js';
import { startProgress } from '../output/progress.js';
import { countText, singleLine } from '../output/text.js';
import { ImportPreview } from './import-preview.js';
import type { ImportTarget } from './import-target.js';
import { serverTarget } from './server-target.js';
import { reportedLines, trustAllImports, trustLines } from './trust-imports.js';

export interface ForeignImport {
  readonly log: string;
  readonly target: ImportTarget;
  readonly isDryRun: boolean;
  readonly isInParts: boolean;
  /** Whether the convergences that imported logs report are made authoritative after the import. */
  readonly shouldTrust: boolean;
}

/** Imports another tool's log into the given store, to the given server, or into this workspace. */
export async function importForeignFile(context: CommandContext, request: ForeignImport): Promise<void> {
  const { target, isDryRun, shouldTrust } = request;
  const preview = isDryRun && shouldTrust ? new ImportPreview() : null;
  const reports = await importLogs(context, request, preview);
  const imported = reports.length === 1 ? reports[0] : reports;
  const texts = reports.flatMap((report) => reportLines(report, isDryRun));
  if (!isDryRun && isLogOf(target.workspace, resolve(context.io.cwd, request.log)))
    texts.push(`The original is kept in ${singleLine(foreignFolderOf(target.workspace))}.`);
  if (!shouldTrust) return context.printReply(imported, () => (isDryRun ? texts : [...texts, TRUST_ADVICE]));
  // Printed before the trust is requested, because the import stays even if the trust is refused.
  if (!context.is_json) context.print(texts.join('\n'));
  if (preview !== null) {
    const reported = preview.convergedEdges();
    return context.printReply({ imported, reported: reported.slice(0, REPORTED_MAX) }, () =>
      reportedLines(reported),
    );
  }
  const trust = await trustAllImports(context, target, false);
  context.printReply({ imported, trust }, () => trustLines(trust, false));
}

const TRUST_ADVICE =
  'Edges that converged in an imported log are shown, but do not count as converged. To see which ones can: gen import --trust-imports --dry-run';

/** Whether this is the path of the workspace's own log. */
const isLogOf = (workspace: Workspace | null, file: string): workspace is Workspace =>
  workspace !== null && file === join(workspace.events, ACTIVE_FILE);

async function importLogs(
  context: CommandContext,
  { log, target, isDryRun, isInParts }: ForeignImport,
  preview: ImportPreview | null,
): Promise<ForeignReport[]> {
  const { io } = context;
  const { projectKey, workspace, destination } = target;
  const { logs, undo } = await prepareLogFiles(resolve(io.cwd, log), workspace, isDryRun);
  const known_edges = await readKnownEdges(workspace);
  const importTo = (to: ForeignTarget | null) =>
    importFiles(io, logs, to, { ...projectKey, known_edges, is_in_parts: isInParts });
  const importToStore = ({ store, blobs }: OpenedStore) =>
    importTo({
      put: async (events) => unlessProblem(await commitImported(store, projectKey, events, isInParts)),
      putBlob: (sha256, bytes) => blobs.put(projectKey.tenant_id, sha256, bytes),
    });
  const importAll = async (): Promise<ForeignReport[]> => {
    if (isDryRun) return importTo(preview);
    if (destination.kind === 'server') return importTo(await serverTarget(context, projectKey, isInParts));
    const url = destination.kind === 'store' ? destination.url : `workspace:${workspace?.root}`;
    return withStore(context, url, importToStore);
  };
  return importAll().catch(async (error: unknown) => {
    await undo();
    throw error;
  });
}

async function importFiles(
  io: Io,
  files: readonly string[],
  target: ForeignTarget | null,
  options: ProjectKey & { known_edges: ReadonlySet<string>; is_in_parts: boolean },
): Promise<ForeignReport[]> {
  const reports: ForeignReport[] = [];
  const spinner = startProgress(io, 'reading');
  const onRead = (lines: number) => spinner.update(countText(lines, 'line'));
  try {
    for (const file of files) {
      const source = basename(file);
      const importOptions = { ...options, source, now_ms: Date.now(), onRead };
      reports.push(unlessProblem(await importForeign(createReadStream(file), target, importOptions)));
    }
  } finally {
    spinner.stop();
  }
  return reports;
}

function unlessProblem<T extends object>(reply: T | Problem): T {
  if (isProblem(reply)) throw failureWithCode(reply.problem, reply.detail);
  return reply;
}

/** The files to import. A foreign log at the path of the workspace's own log is moved away first, except in a dry run. */
async function prepareLogFiles(
  file: string,
  workspace: Workspace | null,
  isDryRun: boolean,
): Promise<MovedForeignLogs> {
  if (isLogOf(workspace, file) && !isDryRun) {
    const moved = await moveForeignLogAside(workspace);
    if (moved.logs.length > 0) return moved;
    throw new CommandFailure(
      `${singleLine(file)} is this workspace’s own log. Pass the log of another tool to --foreign.`,
    );
  }
  const stats = await stat(file).catch(() => null);
  if (stats?.isFile() !== true)
    throw failureWithCode('FILE_UNREADABLE', `File not found: ${singleLine(file)}. Check --foreign.`);
  return { logs: [file], undo: async () => {} };
}

const NO_FILES: WorkspaceTexts = { files: new Map(), unreadable: new Map() };

async function readKnownEdges(workspace: Workspace | null): Promise<ReadonlySet<string>> {
  const { files, unreadable } = workspace === null ? NO_FILES : await readWorkspaceFiles(workspace);
  const parsed = parseMethodology(files, unreadable);
  const { methodology } = parsed.ok ? parsed : (parseMethodology(new Map()) as typeof parsed & { ok: true });
  return new Set(methodology.topology.transitions.map(({ edge }) => edge));
}

/** Maximum number of edges in the JSON of a dry run. */
const REPORTED_MAX = 500;
/** Maximum number of entries per list in the text; the JSON has more. */
const SHOWN_MAX = 20;

function reportLines(report: ForeignReport, isDryRun: boolean): string[] {
  const { source, read, written, already_there, unplaced, unplaced_count, not_listed } = report;
  const writtenText = isDryRun
    ? 'nothing was written'
    : `${written} written, ${already_there} already present`;
  const lines = [`${singleLine(source)}: ${countText(read, 'line')} read, ${writtenText}.`];
  const pushCounts = (title: string, list: 'unknown_types' | 'edges_unknown' | 'projects_seen') => {
    const counts = Object.entries(report[list]);
    const shown = counts.slice(0, SHOWN_MAX).map(([name, times]) => `${singleLine(name)} (${times})`);
    const othersCount = counts.slice(SHOWN_MAX).reduce((sum, [, times]) => sum + times, not_listed[list]);
    if (othersCount > 0) shown.push(`and others (${othersCount})`);
    if (shown.length > 0) lines.push(`  ${title}: ${shown.join(', ')}`);
  };
  pushCounts('unknown types', 'unknown_types');
  pushCounts('edges not in the graph', 'edges_unknown');
  pushCounts('projects in the log', 'projects_seen');
  if (unplaced_count > 0) lines.push(`  ${unplaced_count} kept unchanged, because they are not events:`);
  for (const { line, why } of unplaced.slice(0, SHOWN_MAX))
    lines.push(`    line ${line}: ${singleLine(why)}`);
  if (unplaced_count > SHOWN_MAX) lines.push(`    and ${unplaced_count - SHOWN_MAX} more`);
  return lines;
}
