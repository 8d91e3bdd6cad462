import { relative, resolve } from 'node:path';
import type { AnchorOptions } from '../../coordinator/audit/verify/checkpoint-audit.js';
import type { LogRemark } from '../../coordinator/audit/verify/log-remark.js';
import { type LogReport, LogVerifier } from '../../coordinator/audit/verify/log-verifier.js';
import { verifyStore } from '../../coordinator/audit/verify/verify-store.js';
import type { Anchor } from '../../core/audit/checkpoint.js';
import { SignatureRequirements } from '../../core/audit/unsigned-commands.js';
import { didYouMean } from '../../core/closest-names.js';
import { LIMITS_SUBJECT, TENANT_PROJECT } from '../../core/subject.js';
import { readStoreEvents } from '../../stores/read-store-events.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, failureWithCode } from '../exit.js';
import type { Io } from '../io.js';
import { trackedWarning } from '../key-warnings.js';
import { withStore } from '../open-store.js';
import { collectOption } from '../option-parsers.js';
import { startProgress } from '../output/progress.js';
import { countText } from '../output/text.js';
import { defaultStore, folderOfStore } from '../store.js';
import { findLogs } from '../verify/find-logs.js';
import { readAnchors } from '../verify/read-anchors.js';
import { verifyLog } from '../verify/verify-log.js';

const REPORT_EVERY_EVENTS = 10_000;

export const verifyCommand = defineCommand('verify [log]', {
  description:
    'replay a log from its first line and check its hash chain, order, invariants, checkpoints and signatures',
  options: {
    '--anchor <file|url|store:url>':
      'compare with checkpoints kept elsewhere: a file or URL with the output of gen audit head --json, the file of a sink, or a store that keeps them',
    '--key <key_id>': {
      about: 'with --anchor: also trust this audit key, even if it signed none of the anchors; repeatable',
      parse: collectOption,
    },
  },
  help: '\nLOG is the folder of a store, a tenant or a project, a log file, or a store URL. With a store URL, all projects of the\ntenant are checked, or only the one in --project. Nothing is changed, and a server may be running on the log. A\nviolation, and lines or bytes at the end of a file that are not part of the verified log, are reported with file, line\nand rule, and the exit code is 1.\n\nExamples:\n  gen verify\n  gen verify backup/default/ecommerce-rebuild/events.jsonl\n  gen verify postgres://fleet@db/fleet --tenant acme',
  async run(context, log, { anchor, key = [] }) {
    const anchors = anchor === undefined ? [] : await readAnchors(context, anchor);
    const anchorOptions = { anchors, trustedKeys: key };
    const path = log ?? defaultLog(context.io);
    const spinner = startProgress(context.io, 'reading');
    const onEvent = (events: number) => {
      if (events % REPORT_EVERY_EVENTS === 0) spinner.update(`${events} events`);
    };
    const verify = isUrl(path) ? verifyInStore : verifyFiles;
    const all = await verify(context, path, onEvent, anchorOptions).finally(() => spinner.stop());
    const projectLogs = logsOfProject(context, path, all);
    const logs = [...projectLogs, ...missingLogs(projectLogs, anchors)];
    if (!isUrl(path)) context.warnAll(await trackedWarning(context.io, resolve(context.io.cwd, path)));
    const isSound = logs.every(({ breaks }) => breaks.length === 0);
    const name = isUrl(path) ? (await import('../../server/store-url.js')).withoutPassword(path) : path;
    context.printReply({ ok: isSound, logs }, () => reportText(context, name, logs));
    if (!isSound) context.exit_code = EXIT.refused;
  },
});

const defaultLog = (io: Io): string => folderOfStore(io, defaultStore(io)) ?? defaultStore(io);

const isUrl = (log: string): boolean => /^(?!file:)[a-z]+:/.test(log);

async function verifyFiles(
  context: CommandContext,
  log: string,
  onEvent: (events: number) => void,
  anchorOptions: AnchorOptions,
): Promise<LogReport[]> {
  const path = resolve(context.io.cwd, log);
  const locations = await findLogs(path);
  if (locations === null) throw new CommandFailure(`There is no log at ${path}. Pass one: gen verify LOG.`);
  const logs: LogReport[] = [];
  const requirements = new SignatureRequirements();
  for (const location of locations)
    logs.push(await verifyLog(location, onEvent, anchorOptions, requirements));
  return logs;
}

function verifyInStore(
  context: CommandContext,
  url: string,
  onEvent: (events: number) => void,
  anchorOptions: AnchorOptions,
): Promise<LogReport[]> {
  return withStore(context, url, async ({ store }) => {
    const projects =
      context.explicitProject === null ? await store.projects(context.tenant) : [context.explicitProject];
    const logs: LogReport[] = [];
    const requirements = new SignatureRequirements();
    const limitsKey = { tenant_id: context.tenant, project_id: TENANT_PROJECT };
    for await (const event of readStoreEvents(store, limitsKey, { subject: LIMITS_SUBJECT }))
      requirements.visit(event);
    for (const project_id of projects) {
      const projectKey = { tenant_id: context.tenant, project_id };
      logs.push(await verifyStore(store, projectKey, onEvent, anchorOptions, requirements));
    }
    return logs;
  });
}

/** The logs of the project in `--project`, or all. Throws if that project has no log: nothing of it was verified. */
function logsOfProject(
  { explicitProject }: CommandContext,
  path: string,
  logs: readonly LogReport[],
): readonly LogReport[] {
  if (explicitProject === null) return logs;
  const projectLogs = logs.filter(({ project_id, events }) => project_id === explicitProject && events > 0);
  if (projectLogs.length > 0) return projectLogs;
  const projectIds = logs.flatMap(({ project_id }) => project_id ?? []);
  const suggestion = didYouMean(explicitProject, projectIds) || ' To verify all projects, omit --project.';
  throw failureWithCode('UNKNOWN_PROJECT', `${path} has no log of project ${explicitProject}.${suggestion}`);
}

/** A report with a violation for each project that an anchor covers and that has no log. */
function missingLogs(logs: readonly LogReport[], anchors: readonly Anchor[]): LogReport[] {
  const hasLog = (anchor: Anchor): boolean =>
    logs.some(
      ({ tenant_id, project_id, events }) =>
        events > 0 && tenant_id === anchor.tenant_id && project_id === anchor.project_id,
    );
  const missing = new Map(
    anchors
      .filter((anchor) => !hasLog(anchor))
      .map((anchor) => [`${anchor.tenant_id}/${anchor.project_id}`, anchor]),
  );
  return [...missing].map(([path, { tenant_id, project_id, position }]) => {
    const verifier = new LogVerifier(() => {});
    const says = `there is no log, and the anchor covers ${position} events`;
    verifier.addViolation({ file: path, line: 1, rule: 'ANCHOR LOG_SHORTER', subject: null, says });
    return { ...verifier.report(path, null), tenant_id, project_id };
  });
}

function reportText(context: CommandContext, where: string, logs: readonly LogReport[]): string {
  if (logs.length === 0) return `${where} contains no log yet.`;
  const { paint } = context;
  const events = logs.reduce((sum, report) => sum + report.events, 0);
  const broken = logs.filter(({ breaks }) => breaks.length > 0).length;
  return [
    ...logs.flatMap((report) => logLines(context, report)),
    '',
    `Checked in ${countText(logs.length, 'log')}, ${countText(events, 'event')}: ${storageChecksText(logs)}, the order of positions and of each`,
    'subject’s sequence, and for every step the invariants of claims (one holder, increasing generations, fenced',
    'results, leases, merges, adoption of parked results) and the rules of runs.',
    broken === 0 ? paint.green('Every invariant holds.') : paint.red(`${countText(broken, 'log')} broken.`),
  ].join('\n');
}

function logLines({ io, paint }: CommandContext, report: LogReport): string[] {
  const { path, tenant_id, project_id, events, subjects, files, lines, breaks, notes } = report;
  const name = project_id === null ? path : `${tenant_id}/${project_id}`;
  const size = files === 0 ? '' : `, ${countText(lines, 'line')} in ${countText(files, 'file')}`;
  const verdict = breaks.length === 0 ? paint.green('valid ') : paint.red('BROKEN');
  const textOf = ({ file, line, last_line, rule, subject, says }: LogRemark): string => {
    const about = subject === null ? '' : ` ${subject}`;
    const lines = last_line === undefined ? line : `${line}-${last_line}`;
    return `${relative(io.cwd, file)}:${lines}: ${rule}${about}: ${says}`;
  };
  return [
    `${verdict}  ${name}  ${countText(events, 'event')} on ${countText(subjects, 'subject')}${size}`,
    ...[
      coverageText(report),
      ...anchorTexts(report),
      ...signatureTexts(report),
      ...lossTexts(report),
      ...foreignText(report),
      ...breaks.map(textOf),
      ...notes.map((note) => `note: ${textOf(note)}`),
    ].map((line) => `        ${line}`),
  ];
}

function coverageText({ checkpoints, covered_position, events }: LogReport): string {
  if (checkpoints === 0) return 'no signed checkpoint yet';
  return `${countText(checkpoints, 'signed checkpoint')}, the last one covers ${covered_position} of ${countText(events, 'event')}`;
}

const anchorTexts = ({ anchors, anchored_position }: LogReport): string[] =>
  anchors === 0
    ? []
    : [
        `agrees with ${countText(anchors, 'anchor')}, the last one covers ${countText(anchored_position, 'event')}`,
      ];

const signatureTexts = ({ signatures, signatures_unchecked }: LogReport): string[] => [
  ...(signatures === 0 ? [] : [`${countText(signatures, 'signature')} of sessions checked`]),
  ...(signatures_unchecked === 0
    ? []
    : [`${countText(signatures_unchecked, 'signature')} that cannot be checked`]),
];

const lossTexts = ({ losses }: LogReport): string[] =>
  losses.map(
    ({ position, by, reason, kept_position, lost_events }) =>
      `position ${position}: ${by} accepted the loss of ${countText(lost_events, 'event')} after position ${kept_position}: ${reason}`,
  );

function foreignText({ foreign_lines, foreign_unsealed }: LogReport): string[] {
  if (foreign_lines === 0) return [];
  const unsealed = foreign_unsealed === 0 ? 'all sealed' : `${foreign_unsealed} not yet sealed`;
  return [`${countText(foreign_lines, 'line')} of other programs, ${unsealed}`];
}

/** What was checked: the hash chain of log files, or that a database's heads equal the fold of its events. */
const storageChecksText = (logs: readonly LogReport[]): string =>
  logs.some(({ files }) => files > 0)
    ? 'the seal of each block and its place in the chain'
    : 'every head against the fold of its events';
