import { relative, resolve } from 'node:path';
import type { AddCommands } from '../act.js';
import type { Context } from '../context.js';
import { CommandFailure, EXIT, wrongUsage } from '../exit.js';
import { progress } from '../output/progress.js';
import { count } from '../output/text.js';
import { embeddedLog } from '../store.js';
import { findLogs } from '../verify/find-logs.js';
import { type LogReport, verifyLog } from '../verify/verify-log.js';

const SAY_EVERY_EVENTS = 10_000;

export const addVerify: AddCommands = (program, act) => {
  program
    .command('verify [log]')
    .description('replay a log from its first line and check its chain, its order and every invariant')
    .addHelpText(
      'after',
      '\nLOG is the folder of a store, a tenant or a project, or a file of a log. Nothing in it is changed, and a server may\nbe running on it. Where something is broken: its file, its line and the rule, and exit 1.\n\nExamples:\n  gen verify\n  gen verify backup/default/ecommerce-rebuild/events.jsonl',
    )
    .action(act(verify));
};

async function verify(context: Context, log: string | undefined): Promise<void> {
  const path = log === undefined ? defaultLog(context) : resolve(context.io.cwd, log);
  const places = await findLogs(path);
  if (places === null) throw new CommandFailure(`There is no log at ${path}. Name one: gen verify LOG.`);
  const waiting = progress(context.io, 'reading');
  const logs: LogReport[] = [];
  try {
    for (const place of places) {
      const report = await verifyLog(place, (events) => {
        if (events % SAY_EVERY_EVENTS === 0) waiting.say(`${events} events`);
      });
      logs.push(report);
    }
  } finally {
    waiting.stop();
  }
  const is_sound = logs.every(({ breaks }) => breaks.length === 0);
  context.show({ ok: is_sound, logs }, () => reportText(context, path, logs));
  if (!is_sound) context.exit_code = EXIT.refused;
}

function defaultLog(context: Context): string {
  const path = embeddedLog(context.io);
  if (path === null) throw wrongUsage('GENESIS_STORE is no folder. Name a log: gen verify LOG.');
  return path;
}

function reportText({ io, paint }: Context, path: string, logs: readonly LogReport[]): string {
  const lines: string[] = [];
  for (const report of logs) {
    const name = report.project_id === null ? report.path : `${report.tenant_id}/${report.project_id}`;
    const read = `${count(report.events, 'event')} on ${count(report.subjects, 'subject')}, ${count(report.lines, 'line')} in ${count(report.files, 'file')}`;
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
  if (logs.length === 0) return `${path} holds no log yet.`;
  const events = logs.reduce((sum, report) => sum + report.events, 0);
  const broken = logs.filter(({ breaks }) => breaks.length > 0).length;
  lines.push(
    '',
    `Checked in ${count(logs.length, 'log')}, ${count(events, 'event')}: each line’s hash and its place in the chain, the order of`,
    'positions and of each subject’s own sequence, and for every step the invariants of claims (one holder, growing',
    'generations, fenced results, leases, merges, adoption of kept work).',
    broken === 0 ? paint.green('Every invariant holds.') : paint.red(`${count(broken, 'log')} broken.`),
  );
  return lines.join('\n');
}
