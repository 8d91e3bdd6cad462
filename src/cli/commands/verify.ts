import { relative, resolve } from 'node:path';
import type { AddCommands } from '../command-action.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { trackedWarning } from '../key-warnings.js';
import { withStore } from '../open-store.js';
import { startProgress } from '../output/progress.js';
import { countText, singleLine } from '../output/text.js';
import { defaultStore, embeddedLog } from '../store.js';
import { findLogs } from '../verify/find-logs.js';
import { type LogReport, verifyLog } from '../verify/verify-log.js';
import { verifyStore } from '../verify/verify-store.js';

const REPORT_EVERY_EVENTS = 10_000;

export const addVerify: AddCommands = (program, wrapAction) => {
  program
    .command('verify [log]')
    .description('replay a log from its first line and check its chain, its order and every invariant')
    .addHelpText(
      'after',
      '\nLOG is the folder of a store, a tenant or a project, a file of a log, or the URL of a store, of which the projects of\nthe tenant are read, or the one that --project names. Nothing in it is changed, and a server may be running on it.\n Where something is broken: its file, its line and the rule, and exit 1.\n\nExamples:\n  gen verify\n  gen verify backup/default/ecommerce-rebuild/events.jsonl\n  gen verify postgres://fleet@db/fleet --tenant acme',
    )
    .action(wrapAction(verify));
};

async function verify(context: CommandContext, log: string | undefined): Promise<void> {
  const path = log ?? defaultLog(context);
  const spinner = startProgress(context.io, 'reading');
  const onEvent = (events: number) => {
    if (events % REPORT_EVERY_EVENTS === 0) spinner.update(`${events} events`);
  };
  const logs = await (isUrl(path)
    ? verifyProjectsInStore(context, path, onEvent)
    : verifyFiles(context, path, onEvent)
  ).finally(() => spinner.stop());
  const folder = isUrl(path) ? null : resolve(context.io.cwd, path);
  const warnings = folder === null ? [] : await trackedWarning(context.io, folder);
  for (const line of warnings) context.printNotice(singleLine(line));
  const isSound = logs.every(({ breaks }) => breaks.length === 0);
  const name = isUrl(path) ? (await import('../../server/store-url.js')).withoutPassword(path) : path;
  context.show({ ok: isSound, logs }, () => reportText(context, name, logs));
  if (!isSound) context.exit_code = EXIT.refused;
}

const isUrl = (log: string): boolean => /^(?!file:)[a-z]+:/.test(log);

async function verifyFiles(
  context: CommandContext,
  log: string,
  onEvent: (events: number) => void,
): Promise<LogReport[]> {
  const path = resolve(context.io.cwd, log);
  const locations = await findLogs(path);
  if (locations === null) throw new CommandFailure(`There is no log at ${path}. Name one: gen verify LOG.`);
  const logs: LogReport[] = [];
  for (const location of locations) logs.push(await verifyLog(location, onEvent));
  return logs;
}

function verifyProjectsInStore(
  context: CommandContext,
  url: string,
  onEvent: (events: number) => void,
): Promise<LogReport[]> {
  return withStore(context, url, async ({ store }) => {
    const projects =
      context.explicitProject === null ? await store.projects(context.tenant) : [context.explicitProject];
    const logs: LogReport[] = [];
    for (const project_id of projects) {
      logs.push(await verifyStore(store, { tenant_id: context.tenant, project_id }, onEvent));
    }
    return logs;
  });
}

function defaultLog(context: CommandContext): string {
  const path = embeddedLog(context.io);
  return path ?? defaultStore(context.io);
}

function reportText({ io, paint }: CommandContext, where: string, logs: readonly LogReport[]): string {
  const lines: string[] = [];
  for (const report of logs) {
    const name = report.project_id === null ? report.path : `${report.tenant_id}/${report.project_id}`;
    const sizeText =
      report.files === 0 ? '' : `, ${countText(report.lines, 'line')} in ${countText(report.files, 'file')}`;
    const countsText = `${countText(report.events, 'event')} on ${countText(report.subjects, 'subject')}${sizeText}`;
    const verdict = report.breaks.length === 0 ? paint.green('sound ') : paint.red('BROKEN');
    lines.push(`${verdict}  ${name}  ${countsText}`);
    if (report.unfinished_bytes > 0) {
      lines.push(
        `        ${report.unfinished_bytes} bytes at its end are unfinished: nobody was told of them`,
      );
    }
    for (const { file, line, rule, subject, says } of report.breaks) {
      lines.push(
        `        ${relative(io.cwd, file)}:${line}: ${rule}${subject === null ? '' : ` ${subject}`}: ${says}`,
      );
    }
  }
  if (logs.length === 0) return `${where} holds no log yet.`;
  const events = logs.reduce((sum, report) => sum + report.events, 0);
  const broken = logs.filter(({ breaks }) => breaks.length > 0).length;
  lines.push(
    '',
    `Checked in ${countText(logs.length, 'log')}, ${countText(events, 'event')}: ${storageChecksText(logs)}, the order of positions and of each`,
    'subject’s own sequence, and for every step the invariants of claims (one holder, growing generations, fenced',
    'results, leases, merges, adoption of kept work).',
    broken === 0 ? paint.green('Every invariant holds.') : paint.red(`${countText(broken, 'log')} broken.`),
  );
  return lines.join('\n');
}

/** What was checked: the hash chain of log files, or that an engine's heads equal the fold of its events. */
const storageChecksText = (logs: readonly LogReport[]): string =>
  logs.some(({ files }) => files > 0)
    ? 'each line’s hash and its place in the chain'
    : 'that every head is the fold of its events';
