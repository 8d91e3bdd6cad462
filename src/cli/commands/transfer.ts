import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { ArchiveLine } from '../../coordinator/transfer/archive.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, fileUnreadable, wrongUsage } from '../exit.js';
import { withStore } from '../open-store.js';
import { startProgress } from '../output/progress.js';
import { countText } from '../output/text.js';
import { defaultStore } from '../store.js';

interface StoreOption {
  readonly store?: string;
}

interface ImportOptions extends StoreOption {
  readonly foreign?: string;
  readonly dryRun?: true;
}

const REPORT_EVERY_EVENTS = 1000;

export const addTransfer: AddCommands = (program, wrapAction) => {
  program
    .command('export')
    .description('write a project out of its store: its whole history, and the blobs it names')
    .option('--store <url>', 'the store, where it is not GENESIS_STORE')
    .addHelpText(
      'after',
      '\nOne line of JSON for each event goes to standard output. Live claims move with the project, but their leases run on:\nstop the fleet first.\n\nExamples:\n  gen export --project shop > shop.jsonl\n  gen export --project shop --store file:./log | gen import --store postgres://fleet@db/fleet',
    )
    .action(wrapAction(exportCommand));
  program
    .command('import [file]')
    .description('bring an exported project into a store, at the same positions and generations')
    .option('--store <url>', 'the store, where it is not GENESIS_STORE')
    .option('--foreign <log>', 'bring in the events.jsonl of another tool of the family instead')
    .option('--dry-run', 'with --foreign: only say what would be brought in')
    .addHelpText(
      'after',
      '\nFILE is what gen export wrote; without one, standard input. One that was cut short is gone on with when it is\nrepeated. A project that has a history of its own in the store is left alone.\n\nA foreign log goes to the store or the server that is named, else into this workspace: every line once, however often\nit is brought in, and none is lost. One that lies where the workspace has its own is moved to events/foreign/ first.\n\nExamples:\n  gen import shop.jsonl --store postgres://fleet@db/fleet\n  gen import --foreign .ai-workspace/events/events.jsonl\n  gen import --foreign old/events.jsonl --dry-run',
    )
    .action(wrapAction(importCommand));
};

async function exportCommand(context: CommandContext, { store: url }: StoreOption): Promise<void> {
  const { tenant: tenant_id, project: project_id } = await context.target();
  const key = { tenant_id, project_id };
  const { exportProject } = await import('../../coordinator/transfer/export-project.js');
  await withStore(context, url ?? defaultStore(context.io), async ({ store, blobs }) => {
    if ((await store.project(key)) === null) {
      throw new CommandFailure(`There is no project ${project_id} of ${tenant_id} in this store.`);
    }
    const spinner = startProgress(context.io, 'reading');
    for await (const line of exportProject(store, blobs, key)) {
      // Canonical JSON: the export of a project is identical whatever store it comes from.
      await writeWithBackpressure(context, `${canonicalJson(line)}\n`);
      if ('event' in line && line.event.position % REPORT_EVERY_EVENTS === 0) {
        spinner.update(countText(line.event.position, 'event'));
      }
    }
    spinner.stop();
  });
}

/** Writes to standard output, and waits for `drain` when the reader is slow. */
function writeWithBackpressure({ io }: CommandContext, text: string): Promise<void> {
  if (io.stdout.write(text)) return Promise.resolve();
  return new Promise((done) => io.stdout.once('drain', done));
}

async function importCommand(
  context: CommandContext,
  file: string | undefined,
  { store: url, foreign, dryRun }: ImportOptions,
): Promise<void> {
  if (foreign !== undefined) {
    if (file !== undefined) throw wrongUsage('Either an archive or --foreign LOG, not both.');
    const { importForeignFile } = await import('../foreign/import-foreign.js');
    return importForeignFile(context, {
      foreign,
      ...(url === undefined ? {} : { store: url }),
      ...(dryRun === undefined ? {} : { dryRun }),
    });
  }
  if (dryRun === true) throw wrongUsage('--dry-run goes with --foreign.');
  const { importProject } = await import('../../coordinator/transfer/import-project.js');
  await withStore(context, url ?? defaultStore(context.io), async ({ store, blobs }) => {
    const spinner = startProgress(context.io, 'writing');
    const imported = await importProject(store, blobs, linesOf(context, file), (position) => {
      if (position % REPORT_EVERY_EVENTS === 0) spinner.update(countText(position, 'event'));
    }).finally(() => spinner.stop());
    if ('refused' in imported) throw new CommandFailure(imported.detail, undefined, imported);
    context.show(imported, ({ tenant_id, project_id, events, found }) => {
      const alreadyPresentText = found === 0 ? '' : ` (${found} were there already)`;
      return `${tenant_id}/${project_id} is here: ${countText(events, 'event')}${alreadyPresentText}.`;
    });
  });
}

async function* linesOf({ io }: CommandContext, file: string | undefined): AsyncGenerator<ArchiveLine> {
  const input = file === undefined || file === '-' ? io.stdin : createReadStream(resolve(io.cwd, file));
  let number = 0;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1;
      if (line !== '') yield parseLine(line, number);
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw fileUnreadable(file ?? 'standard input', error);
  }
}

function parseLine(line: string, number: number): ArchiveLine {
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed === 'object' && parsed !== null) return parsed as ArchiveLine;
  } catch {
    // Falls through to the failure below.
  }
  throw new CommandFailure(`Line ${number} is no line of an archive. Nothing of it and after it was taken.`);
}
