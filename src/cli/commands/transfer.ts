import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import type { ArchiveLine } from '../../coordinator/transfer/archive.js';
import { canonicalJson } from '../../core/canonical-json.js';
import { combineCommands, defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, fileUnreadable, wrongUsage } from '../exit.js';
import { jsonOrText } from '../json-or-text.js';
import { withStore } from '../open-store.js';
import { startProgress } from '../output/progress.js';
import { countText } from '../output/text.js';
import { defaultStore } from '../store.js';

const REPORT_EVERY_EVENTS = 1000;
const STORE_OPTION = {
  '--store <url>': 'store URL (default: GENESIS_STORE, or the local store)',
} as const;

const exportCommand = defineCommand('export', {
  description: 'export a project: its whole history, and the blobs it refers to',
  options: {
    ...STORE_OPTION,
    '--format <name>': 'archive (default), or family: the flat log that the tools of the Genesis family read',
  },
  help: '\nWrites lines of JSON to standard output; in an archive one for the header, each blob and each event. Live claims move\nwith the project, but their leases keep running: stop the fleet first.\n\nThe format family contains the events of features, edges and tasks, without blobs, plan, settings and keys. Such a file\ncannot be imported as a project, only as a foreign log.\n\nExamples:\n  gen export --project shop > shop.jsonl\n  gen export --project shop --format family > events.jsonl\n  gen export --project shop --store file:./log | gen import --store postgres://fleet@db/fleet',
  async run(context, { store: url = defaultStore(context.io), format = 'archive' }) {
    if (format !== 'archive' && format !== 'family')
      throw wrongUsage(`Unknown format ${JSON.stringify(format)}. Pass --format archive or --format family.`);
    const { tenant: tenant_id, project: project_id } = await context.target();
    const projectKey = { tenant_id, project_id };
    const { exportProject } = await import('../../coordinator/transfer/export-project.js');
    const { isImportUnfinished, unfinishedImportText } = await import(
      '../../coordinator/transfer/unfinished-import.js'
    );
    await withStore(context, url, async ({ store, blobs }) => {
      if ((await store.project(projectKey)) === null) {
        throw new CommandFailure(
          `This store has no project ${project_id} of tenant ${tenant_id}. Check --project and --tenant.`,
        );
      }
      if (await isImportUnfinished(store, projectKey))
        throw new CommandFailure(unfinishedImportText(projectKey));
      const spinner = startProgress(context.io, 'reading');
      // Canonical JSON: the archive of a project is identical whatever store it comes from.
      const textOf = format === 'family' ? await familyLineWriter() : canonicalJson;
      for await (const line of exportProject(store, blobs, projectKey)) {
        const text = textOf(line);
        if (text !== null) await writeWithBackpressure(context, `${text}\n`);
        if ('event' in line && line.event.position % REPORT_EVERY_EVENTS === 0) {
          spinner.update(countText(line.event.position, 'event'));
        }
      }
      spinner.stop();
    });
  },
});

/** Returns a function from an event to its line in the format family; null for an event that the format does not contain. */
async function familyLineWriter(): Promise<(line: ArchiveLine) => string | null> {
  const { FamilyLogWriter } = await import('../../core/methodology/family-log.js');
  const { parseMethodology } = await import('../../core/methodology/definition/read-methodology.js');
  const builtIn = parseMethodology(new Map());
  if (!builtIn.ok) throw new Error('the built-in methodology is not valid');
  const writer = new FamilyLogWriter(builtIn.methodology.topology);
  return (line) => ('event' in line ? writer.lineOf(line.event) : null);
}

/** Writes to standard output, and waits for `drain` when the reader is slow. */
function writeWithBackpressure({ io }: CommandContext, text: string): Promise<void> {
  if (io.stdout.write(text)) return Promise.resolve();
  return new Promise((done) => io.stdout.once('drain', done));
}

const importCommand = defineCommand('import [file]', {
  description: 'import an exported project into a store, with the same positions and generations',
  options: {
    ...STORE_OPTION,
    '--foreign <log>': 'import the events.jsonl of a related tool instead',
    '--trust-imports': 'trust imported logs: what they report as converged counts as converged (admin)',
    '--in-parts':
      'with --foreign: write a log that exceeds one transaction of the store in several transactions',
    '--dry-run': 'with --foreign or --trust-imports: only report what would be done',
  },
  help: '\nFILE is the output of gen export; without FILE, standard input is read. The whole input is checked before anything is\nwritten. A project is served only when its import is complete; an interrupted import continues when it is repeated. A\nproject that already has its own history in the store is not changed.\n\nA foreign log is imported into the given store or server, or else into this workspace: every line exactly once, however\noften it is imported. All lines are written at once, or none. A log that the store cannot write at once (10,000 lines or\n8 MiB; 50 lines in DynamoDB) is refused, unless --in-parts is given: if a part fails, the parts before it stay, and\nrepeating the import completes it. A foreign log at the path of the workspace’s own log is moved to events/foreign/\nfirst.\n\nEdges that converged in a foreign log are shown, but do not count as converged. --trust-imports completes these edges as if\ntheir results were accepted here: together with --foreign after that import, alone for all earlier imports. Edges that\nthe project does not have, and edges that were claimed here, are skipped. gen task reset reopens an edge.\n\nExamples:\n  gen import shop.jsonl --store postgres://fleet@db/fleet\n  gen import --foreign .ai-workspace/events/events.jsonl\n  gen import --foreign old/events.jsonl --dry-run\n  gen import --trust-imports --dry-run',
  async run(context, file, { store: url, foreign, trustImports = false, dryRun = false, inParts = false }) {
    if (foreign !== undefined || trustImports) {
      if (file !== undefined)
        throw wrongUsage(
          'FILE is an archive of gen export. Omit FILE, or omit --foreign and --trust-imports.',
        );
      return importForeignLog(context, url, {
        foreign,
        shouldTrust: trustImports,
        isDryRun: dryRun,
        isInParts: inParts,
      });
    }
    if (dryRun) throw wrongUsage('--dry-run requires --foreign LOG or --trust-imports.');
    await withArchiveFile(context, file, (archive) => importArchive(context, archive, url));
  },
});

interface ForeignOptions {
  readonly foreign: string | undefined;
  readonly shouldTrust: boolean;
  readonly isDryRun: boolean;
  readonly isInParts: boolean;
}

/** Imports a foreign log, trusts what was imported, or both. */
async function importForeignLog(
  context: CommandContext,
  url: string | undefined,
  { foreign, shouldTrust, isDryRun, isInParts }: ForeignOptions,
): Promise<void> {
  const { resolveImportTarget } = await import('../foreign/import-target.js');
  const target = await resolveImportTarget(context, url);
  if (foreign !== undefined) {
    const { importForeignFile } = await import('../foreign/import-foreign.js');
    return importForeignFile(context, { log: foreign, target, shouldTrust, isDryRun, isInParts });
  }
  const { trustAllImports, trustLines } = await import('../foreign/trust-imports.js');
  context.printReply(await trustAllImports(context, target, isDryRun), (trust) =>
    trustLines(trust, isDryRun),
  );
}

/** Reads the archive twice: all of it is checked before the first event is written. */
async function importArchive(context: CommandContext, archive: string, url: string | undefined) {
  const { archiveRefusal, importProject } = await import('../../coordinator/transfer/import-project.js');
  await withStore(context, url ?? defaultStore(context.io), async ({ store, blobs }) => {
    const withProgress = async <T>(
      what: string,
      work: (onEvent: (position: number) => void) => Promise<T>,
    ) => {
      const spinner = startProgress(context.io, what);
      return work((position) => {
        if (position % REPORT_EVERY_EVENTS === 0) spinner.update(countText(position, 'event'));
      }).finally(() => spinner.stop());
    };
    const archiveLines = () => linesOf(archive);
    const refusal = await withProgress('checking', (onEvent) =>
      archiveRefusal(store, archiveLines(), onEvent),
    );
    if (refusal !== null) throw new CommandFailure(refusal.detail, undefined, refusal);
    const imported = await withProgress('writing', (onEvent) =>
      importProject(store, blobs, archiveLines(), onEvent),
    );
    if ('refused' in imported) throw new CommandFailure(imported.detail, undefined, imported);
    context.printReply(imported, ({ tenant_id, project_id, events, found }) => {
      const alreadyPresentText = found === 0 ? '' : ` (${found} already present)`;
      return `${tenant_id}/${project_id} imported: ${countText(events, 'event')}${alreadyPresentText}.`;
    });
  });
}

/**
 * Calls `work` with the path of the archive. Standard input is saved in a temporary file first, because it can be read only
 * once, and the archive is read twice.
 */
async function withArchiveFile(
  { io }: CommandContext,
  file: string | undefined,
  work: (archive: string) => Promise<void>,
): Promise<void> {
  if (file !== undefined && file !== '-') return work(resolve(io.cwd, file));
  const folder = await mkdtemp(join(tmpdir(), 'genesis-import-'));
  try {
    const archive = join(folder, 'archive.jsonl');
    await pipeline(io.stdin, createWriteStream(archive, { mode: 0o600 }));
    await work(archive);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const transferCommands = combineCommands(exportCommand, importCommand);

async function* linesOf(archive: string): AsyncGenerator<ArchiveLine> {
  const input = createReadStream(archive);
  let lineNumber = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      lineNumber += 1;
      if (line !== '') yield parseLine(line, lineNumber);
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw fileUnreadable(archive, error);
  }
}

function parseLine(line: string, lineNumber: number): ArchiveLine {
  const parsed = jsonOrText(line);
  if (typeof parsed === 'object' && parsed !== null) return parsed as ArchiveLine;
  throw new CommandFailure(
    `Line ${lineNumber} is not a valid archive line. Nothing was imported. Pass the output of gen export.`,
  );
}
