import { relative, resolve } from 'node:path';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, EXIT } from '../exit.js';
import { trackedWarning } from '../key-warnings.js';
import { withStore } from '../open-store.js';
import { progress } from '../output/progress.js';
import { count, plainText } from '../output/text.js';
import { defaultStore, embeddedLog } from '../store.js';
import { findLogs } from '../verify/find-logs.js';
import { type LogReport, verifyLog } from '../verify/verify-log.js';
import { verifyStore } from '../verify/verify-store.js';

const SAY_EVERY_EVENTS = 10_000;

export const addVerify: AddCommands = (program, act) => {
  program
    .command('verify [log]')
    .description('replay a log from its first line and check its chain, its order and every invariant')
    .addHelpText(
      'after',
      '\nLOG is the folder of a store, a tenant or a project, a file of a log, or the URL of a store, of which the projects of\nthe tenant are read, or the one that --project names. Nothing in it is changed, and a server may be running on it.\n Where something is broken: its file, its line and the rule, and exit 1.\n\nExamples:\n  gen verify\n  gen verify backup/default/ecommerce-rebuild/events.jsonl\n  gen verify postgres://fleet@db/fleet --tenant acme',
    )
    .action(act(verify));
};

async function verify(context: Context, log: string | undefined): Promise<void> {
  const path = log ?? defaultLog(context);
  const waiting = progress(context.io, 'reading');
  const onEvent = (events: number) => {
    if (events % SAY_EVERY_EVENTS === 0) waiting.say(`${events} events`);
  };
  const logs = await (isUrl(path)
    ? inStore(context, path, onEvent)
    : inFiles(context, path, onEvent)
  ).finally(() => waiting.stop());
  const folder = isUrl(path) ? null : resolve(context.io.cwd, path);
  const warnings = folder === null ? [] : await trackedWarning(context.io, folder);
  for (const line of warnings) context.remark(plainText(line));
  const is_sound = logs.every(({ breaks }) => breaks.length === 0);
  const name = isUrl(path) ? (await import('../../server/store-url.js')).withoutPassword(path) : path;
  context.show({ ok: is_sound, logs }, () => reportText(context, name, logs));
  if (!is_sound) context.exit_code = EXIT.refused;
}

const isUrl = (log: string): boolean => /^(?!file:)[a-z]+:/.test(log);

async function inFiles(
  context: Context,
  log: string,
  onEvent: (events: number) => void,
): Promise<LogReport[]> {
  const path = resolve(context.io.cwd, log);
  const places = await findLogs(path);
  if (places === null) throw new CommandFailure(`There is no log at ${path}. Name one: gen verify LOG.`);
  const logs: LogReport[] = [];
  for (const place of places) logs.push(await verifyLog(place, onEvent));
  return logs;
}

function inStore(context: Context, url: string, onEvent: (events: number) => void): Promise<LogReport[]> {
  return withStore(context, url, async ({ store }) => {
    const projects =
      context.named_project === null ? await store.projects(context.tenant) : [context.named_project];
    const logs: LogReport[] = [];
    for (const project_id of projects) {
      logs.push(await verifyStore(store, { tenant_id: context.tenant, project_id }, onEvent));
    }
    return logs;
  });
}

function defaultLog(context: Context): string {
  const path = embeddedLog(context.io);
  return path ?? defaultStore(context.io);
}

function reportText({ io, paint }: Context, where: string, logs: readonly LogReport[]): string {
  const lines: string[] = [];
  for (const report of logs) {
    const name = report.project_id === null ? report.path : `${report.tenant_id}/${report.project_id}`;
    const lying =
      report.files === 0 ? '' : `, ${count(report.lines, 'line')} in ${count(report.files, 'file')}`;
    const read = `${count(report.events, 'event')} on ${count(report.subjects, 'subject')}${lying}`;
    const verdict = report.breaks.length === 0 ? paint.green('sound ') : paint.red('BROKEN');
    lines.push(`${verdict}  ${name}  ${read}`);
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
    `Checked in ${count(logs.length, 'log')}, ${count(events, 'event')}: ${howKept(logs)}, the order of positions and of each`,
    'subject’s own sequence, and for every step the invariants of claims (one holder, growing generations, fenced',
    'results, leases, merges, adoption of kept work).',
    broken === 0 ? paint.green('Every invariant holds.') : paint.red(`${count(broken, 'log')} broken.`),
  );
  return lines.join('\n');
}

/** Files have a chain; an engine has heads, which must be what its events make of them. */
const howKept = (logs: readonly LogReport[]): string =>
  logs.some(({ files }) => files > 0)
    ? 'each line’s hash and its place in the chain'
    : 'that every head is the fold of its events';
