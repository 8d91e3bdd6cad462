import type {
  ClaimSummary,
  FeatureSummary,
  MethodologyStatus,
  StageCoverage,
  TrackStop,
} from '../../core/methodology/views/status.js';
import type { CommandContext } from '../context.js';
import { LEGEND, paintMark, paintStatus } from './marks.js';
import { table } from './table.js';
import { clockTime, countText, relativeTime, truncate } from './text.js';
import { labelledLines, wrapLines } from './wrap.js';

const FEATURES_SHOWN_MAX = 20;
const SIGNALS_SHOWN_MAX = 10;
const ROWS_SHOWN_MAX = 20;

/** The project's state: each feature's progress, current work, what needs a human, and the next step. */
export function methodologyStatusText(
  status: MethodologyStatus,
  title: string,
  context: CommandContext,
): string {
  const { io, paint } = context;
  const { state, position, last_updated, start_would, features } = status;
  const at = last_updated === null ? 'nothing has happened yet' : `${clockTime(last_updated)} UTC`;
  const lines = [`${paint.bold(title)}  ${paint.bold(state)}  position ${position}, ${at}`];
  const { feature, edge, iteration, reasons } = start_would;
  const target = feature === null ? [] : [`${feature} on ${edge} (iteration ${iteration}).`];
  const nextStepText = [...target, ...reasons.map((reason) => `${reason.replace(/\.$/, '')}.`)].join(' ');
  lines.push(...labelledLines('Start would:', nextStepText, 13, io.columns));
  const open = features.filter(({ status: each }) => !DONE.has(each));
  lines.push(...openFeatureLines(open, context), ...rollupLines(status, context));
  lines.push(...claimLines(status.claims, context));
  lines.push(...doneLines(features, context), ...signalLines(status, context));
  if (features.length > 0) lines.push(...coverageLines(status.coverage, context));
  return [...lines, ...actionLines(status, context)].join('\n');
}

const DONE: ReadonlySet<string> = new Set(['converged']);

function openFeatureLines(open: readonly FeatureSummary[], { io, paint }: CommandContext): string[] {
  if (open.length === 0) return [];
  const lines = ['', `${paint.bold('You are here')}  ${paint.dim(LEGEND)}`];
  for (const feature of open.slice(0, FEATURES_SHOWN_MAX)) {
    const { feature_id, title, status, waits_for, you_are_here, edges_converged, edges_total } = feature;
    const done = `${edges_converged}/${edges_total}`;
    const head = truncate(`  ${feature_id}  ${done}  ${status}  ${title}`, io.columns);
    lines.push(head.replace(feature_id, paint.bold(feature_id)).replace(status, paintStatus(status, paint)));
    lines.push(...stopLines(you_are_here, io.columns).map((line) => paintMarks(line, paint)));
    if (waits_for !== null) lines.push(...wrapLines(`waits: ${waits_for}`, 4, io.columns).map(paint.yellow));
  }
  if (open.length > FEATURES_SHOWN_MAX)
    lines.push(`  and ${open.length - FEATURES_SHOWN_MAX} more: --json has them all`);
  return lines;
}

/** Breaks lines between stops, never within one. */
function stopLines(stops: readonly TrackStop[], width: number | null): string[] {
  const lineWidth = (width ?? Number.POSITIVE_INFINITY) - 4;
  const lines: string[] = [];
  let line = '';
  for (const { stage, mark } of stops) {
    const stop = `${stage} ${mark}`;
    if (line !== '' && line.length + stop.length + 3 > lineWidth) {
      lines.push(`${line} →`);
      line = '';
    }
    line = line === '' ? stop : `${line} → ${stop}`;
  }
  return [...lines, line].map((each) => `    ${each}`);
}

const paintMarks = (line: string, paint: CommandContext['paint']): string =>
  line.replace(/[✓●○✗]/g, (mark) => paintMark(mark, paint));

function rollupLines({ project, health }: MethodologyStatus, { paint }: CommandContext): string[] {
  const { edges_completed, edges_total, percent, features_by_status } = project;
  const statuses = Object.entries(features_by_status).filter(([, number]) => number > 0);
  if (statuses.length === 0) return [];
  const statusCounts = statuses
    .map(([status, number]) => `${number} ${paintStatus(status, paint)}`)
    .join(', ');
  const lines = [
    '',
    `Edges     ${edges_completed} of ${edges_total} converged (${percent} %)`,
    `Features  ${statusCounts}`,
  ];
  const { pending_reviews, stale_claims } = health;
  if (pending_reviews > 0) lines.push(paint.yellow(`Reviews   ${pending_reviews} waiting: gen review`));
  if (stale_claims > 0) lines.push(paint.yellow(`Claims    ${stale_claims} silent for too long`));
  return lines;
}

function claimLines(claims: readonly ClaimSummary[], context: CommandContext): string[] {
  if (claims.length === 0) return [];
  const more = claims.length - ROWS_SHOWN_MAX;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return ['', context.paint.bold('At work'), claimsTable(claims.slice(0, ROWS_SHOWN_MAX), context), ...rest];
}

const claimsTable = (claims: readonly ClaimSummary[], { io, paint }: CommandContext): string =>
  table(
    claims,
    [
      { head: 'Feature', cell: ({ feature_id }) => feature_id },
      { head: 'Edge', cell: ({ edge }) => edge },
      { head: 'Agent', cell: ({ agent_id }) => agent_id, is_flexible: true },
      { head: 'Role', cell: ({ agent_role }) => agent_role ?? '', is_flexible: true },
      {
        head: 'State',
        cell: ({ state }) => state,
        paint: (cell) => (cell === 'held' ? paint.cyan(cell) : paint.yellow(cell)),
      },
      { head: 'Since', cell: ({ since }) => relativeTime(since, Date.now()) },
    ],
    io.columns,
  );

function doneLines(features: readonly FeatureSummary[], { io, paint }: CommandContext): string[] {
  const done = features.filter(({ status }) => DONE.has(status)).map(({ feature_id }) => feature_id);
  if (done.length === 0) return [];
  const more = done.length > FEATURES_SHOWN_MAX ? ` and ${done.length - FEATURES_SHOWN_MAX} more` : '';
  const shown = done.slice(0, FEATURES_SHOWN_MAX).join(', ') + more;
  return ['', paint.bold('Converged'), ...wrapLines(shown, 2, io.columns)];
}

function signalLines({ signals }: MethodologyStatus, { io, paint }: CommandContext): string[] {
  if (signals.length === 0) return [];
  const lines = ['', paint.bold(`${countText(signals.length, 'signal')} that nobody has acted on`)];
  for (const { id, severity, says } of signals.slice(0, SIGNALS_SHOWN_MAX)) {
    lines.push(...wrapLines(`${severity} ${id}: ${says}`, 2, io.columns));
  }
  if (signals.length > SIGNALS_SHOWN_MAX) lines.push(`  and ${signals.length - SIGNALS_SHOWN_MAX} more`);
  return lines;
}

function coverageLines(coverage: readonly StageCoverage[], { io, paint }: CommandContext): string[] {
  const usedStages = coverage.filter(
    (stage) => stage.converged + stage.at_work + stage.pending + stage.blocked > 0,
  );
  if (usedStages.length === 0) return [];
  const number = (value: number) => (value === 0 ? '' : String(value));
  const tableText = table(
    usedStages,
    [
      { head: 'Stage', cell: ({ edge }) => edge, is_flexible: true },
      { head: '✓', cell: ({ converged }) => number(converged) },
      { head: '●', cell: ({ at_work }) => number(at_work) },
      { head: '○', cell: ({ pending }) => number(pending) },
      { head: '✗', cell: ({ blocked }) => number(blocked) },
    ],
    io.columns,
  );
  return ['', paint.bold('How many features have come through'), tableText];
}

function actionLines({ next_actions }: MethodologyStatus, { io, paint }: CommandContext): string[] {
  if (next_actions.length === 0) return [];
  const lines = ['', paint.bold('What to do now')];
  for (const { says, command } of next_actions) {
    lines.push(...wrapLines(command, 2, io.columns).map(paint.cyan));
    if (says !== '') lines.push(...wrapLines(says, 4, io.columns).map(paint.dim));
  }
  return lines;
}
